"""Batches: track which of their requests are answered, and send the answers."""

import threading
from collections import deque

from . import memory as mem
from . import together
from .body import Body
from .errors import TritonError, TritonModelException
from .response import InferenceResponse
from .sender import InferenceResponseSender


class Batch:
    """Requests that are run together.

    Messages about a batch carry its number (protocol.h). No message is sent after all requests are answered: every sender
    holds the lock and checks `open` first.
    """

    __slots__ = (
        "instance", "number", "attributes", "lock", "open", "answered", "sent", "senders", "large", "cancelled",
        "abandoned",
    )  # fmt: skip

    def __init__(self, instance, number, count):
        self.instance, self.number = instance, number
        #: The requests' properties. The batch holds no reference to the requests, because it waits for their destruction.
        self.attributes = []
        #: The places of the large inputs in shared memory.
        self.large = []
        self.lock = threading.Lock()
        #: The number of requests without a final response.
        self.open = count
        self.answered = [False] * count
        #: For a model that is not decoupled: positions of requests whose response was sent.
        self.sent = None
        #: Positions of requests whose response sender was taken.
        self.senders = set()
        #: Positions of requests that are known to be cancelled.
        self.cancelled = ()
        #: Requests that can no longer be answered, because their sender is gone, with the reason.
        self.abandoned = None

    @property
    def has_spoken(self):
        """Whether a response was sent, or a sender was taken that may send one."""
        with self.lock:
            return bool(self.senders) or any(self.answered)

    # --- Results of execute.

    def place_of(self, array):
        """The place of a large array in shared memory, if it is an unmodified view of an input; else None."""
        if array is None or array.nbytes < mem.LARGE or not array.flags.c_contiguous or not array.dtype.isnative:
            return None
        if not self.large:
            return None
        place = array.ctypes.data - self.instance.memory.base
        end = place + array.nbytes
        return place if any(first <= place and end <= past for first, past in self.large) else None

    def fail(self, error):
        """Fails all open requests. Returns whether there were any."""
        with self.lock:
            open_ = self.open > 0
            if open_:
                body = Body(self)
                body.error(-1, error._number(), error.message())
                self._end(body)
        self.settle()
        return open_

    def send_results(self, results):
        """Sends the responses that `execute` has returned."""
        instance, count = self.instance, len(self.attributes)
        if instance.decoupled:
            if results is not None:
                raise TritonModelException(
                    "expected execute() of a decoupled model to return None and to respond with response senders"
                    ", but it returned %s"
                    % type(results).__name__
                )
            return self.part()
        if results is None and len(self.senders) == count:
            return self.part()
        if not isinstance(results, (list, tuple)) or len(results) != count:
            got = len(results) if isinstance(results, (list, tuple)) else type(results).__name__
            raise TritonModelException(
                "expected execute() to return a list of %d responses, one for each request, but it returned %s"
                % (count, got)
            )
        results = [
            result
            if isinstance(result, InferenceResponse) or (result is None and position in self.senders)
            else InferenceResponse(error=self._no_response(position, result))
            for position, result in enumerate(results)
        ]
        with self.lock:
            if self.senders or not self._give_together(results):
                body = Body(self, in_place=True)
                for position, result in enumerate(results):
                    if result is None or self.answered[position]:
                        continue
                    body.response(position, result, True)
                    self._answered(position)
                # If senders have answered all requests before, the batch has ended already.
                if body.words:
                    self._send(body)
        self.part()

    @staticmethod
    def _no_response(position, result):
        """The error of a request whose result is not a response. Other requests of the batch are not affected."""
        return TritonError(
            "expected execute() to return InferenceResponse objects but result %d is a %s"
            % (position, type(result).__name__)
        )

    def _give_together(self, results):
        """Writes the outputs of all requests as one record, if their outputs have the same form."""
        columns = together.columns_of(self, results)
        if columns is None:
            return False
        memory = self.instance.memory
        place, offset, count, flags = together.write(self, columns)
        self.open = 0
        self.answered = [True] * len(self.attributes)
        self.instance.under_way.pop(self.number, None)
        memory.send(mem.ANSWER, self.number, offset, count, mem.LAST | flags, place)
        return True

    def part(self):
        """Called when `execute` has returned. Open requests are answered later."""
        with self.lock:
            if self.open > 0:
                self.instance.memory.send(mem.PART, self.number)
        self.settle()

    # --- Responses through senders.

    def sender(self, position):
        with self.lock:
            self.senders.add(position)
        return InferenceResponseSender(self, position)

    def is_cancelled(self, position):
        # Don't ask the server about an answered request: the number of its batch may be free or reused.
        if self.answered[position] or position in self.cancelled:
            return position in self.cancelled
        if self.instance.memory.ask(mem.ASK_CANCELLED, self.number, position) != 1 or self.answered[position]:
            return False
        self.cancelled = {*self.cancelled, position}
        return True

    def _answered(self, position):
        if not self.answered[position]:
            self.answered[position] = True
            self.open -= 1

    def _end(self, body):
        self.open = 0
        self.answered = [True] * len(self.answered)
        self._send(body)

    def _send(self, body):
        """Sends a body. Called with the lock, so that no message of this batch follows its end."""
        if self.open == 0:
            self.instance.under_way.pop(self.number, None)
        body.send(self.open == 0)

    def respond(self, position, response, final):
        """Sends a response. Returns the error's text, or None."""
        with self.lock:
            if self.answered[position]:
                return "its last response was sent already"
            single = not self.instance.decoupled
            if single and response is not None and self.sent and position in self.sent:
                return "a model that is not decoupled sends one response to a request"
            body = Body(self)
            if response is not None:
                # A model that is not decoupled has one response, so that response is final.
                body.response(position, response, final or single)
                if single:
                    self.sent = self.sent or set()
                    self.sent.add(position)
            elif not single:
                body.end(position)
            elif not (self.sent and position in self.sent):
                body.error(position, TritonError.INTERNAL, "the model sent no response")
            if final or (single and response is not None):
                self._answered(position)
            if body.words:
                self._send(body)
        self.settle()
        return None

    # --- Requests that can no longer be answered.

    def abandon(self, position, why):
        """Fails a request whose sender is gone. Called from `__del__`, that is anywhere, even while the lock is held."""
        if self.answered[position]:
            return
        if self.abandoned is None:
            self.abandoned = deque()
        self.abandoned.append((position, why))
        try:
            self.settle()
        except mem.MemoryFault:
            pass  # The server is gone, or this is a process that the model has forked.

    def settle(self):
        """Sends the errors that `abandon` has noted. Called after every release of the lock."""
        while self.abandoned and self.lock.acquire(blocking=False):
            try:
                while self.abandoned:
                    position, why = self.abandoned.popleft()
                    if self.answered[position]:
                        continue
                    body = Body(self)
                    text = "model '%s': no answer: %s" % (self.instance.model, why)
                    body.error(position, TritonError.INTERNAL, text)
                    self._answered(position)
                    self._send(body)
            finally:
                self.lock.release()

"""Batches: track which of their requests are answered, and send the answers."""

import os
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
        "abandoned", "again",
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
        #: Positions of requests that are to be run again when `execute` has returned.
        self.again = set()

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
                self._send(body, range(len(self.answered)))
        self.settle()
        return open_

    def send_results(self, results):
        """Sends the responses that `execute` has returned."""
        instance, count = self.instance, len(self.attributes)
        again = self._run_again()
        if instance.decoupled:
            if results is not None:
                raise TritonModelException(
                    "expected execute() of a decoupled model to return None and to respond with response senders"
                    ", but it returned %s"
                    % type(results).__name__
                )
            return self.part()
        if results is None and len(self.senders | again) == count:
            return self.part()
        if not isinstance(results, (list, tuple)) or len(results) != count:
            got = len(results) if isinstance(results, (list, tuple)) else type(results).__name__
            raise TritonModelException(
                "expected execute() to return a list of %d responses, one for each request, but it returned %s"
                % (count, got)
            )
        results = [
            result
            if isinstance(result, InferenceResponse) or (result is None and (position in self.senders or position in again))
            else InferenceResponse(error=self._no_response(position, result))
            for position, result in enumerate(results)
        ]
        with self.lock:
            if self.senders or again or not self._give_together(results):
                body, final = Body(self, in_place=True), []
                for position, result in enumerate(results):
                    if result is None or self.answered[position]:
                        continue
                    body.response(position, result, True)
                    final.append(position)
                # If senders have answered all requests before, the batch has ended already.
                if body.words:
                    self._send(body, final)
        self.part()

    def reschedule(self, position, again):
        """Notes whether a request is to be run again. Called while `execute` runs."""
        with self.lock:
            (self.again.add if again else self.again.discard)(position)
        self.settle()

    def _run_again(self):
        """Queues the requests that are to be run again. Returns their positions."""
        if not self.again:
            return self.again
        with self.lock:
            again = {position for position in self.again if not self.answered[position]}
            body = Body(self)
            for position in sorted(again):
                body.again(position)
            if body.words:
                self._send(body, sorted(again))
        self.settle()
        return again

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
        self._end_with(
            range(len(self.answered)),
            lambda _: memory.send(mem.ANSWER, self.number, offset, count, mem.LAST | flags, place),
        )
        return True

    def part(self):
        """Called when `execute` has returned. Open requests are answered later."""
        with self.lock:
            if self.open > 0:
                self.instance.memory.send(mem.PART, self.number)
        self.settle()

    def end_process(self):
        """Ends the process if not even an error can be sent. The server then fails the requests and starts it anew."""
        # In a process that the model has forked, the requests belong to its parent.
        if not self.instance.memory.is_left:
            os._exit(1)

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

    def _send(self, body, final=(), last=False):
        """Sends a body with the final responses to the requests at these positions.

        Called with the lock, so that no message of this batch follows its end.
        """
        self._end_with(final, lambda ends: body.send(last or ends))

    def _end_with(self, final, send):
        """Marks requests as answered, and sends their final responses. If that fails, the requests are open again.

        They are marked before, because the batch's number is free once its last response is sent.
        """
        final = [position for position in final if not self.answered[position]]
        for position in final:
            self.answered[position] = True
        self.open -= len(final)
        ends = bool(final) and self.open == 0
        under_way = self.instance.under_way
        known = under_way.pop(self.number, None) if ends else None
        try:
            send(ends)
        except BaseException:
            for position in final:
                self.answered[position] = False
            self.open += len(final)
            if known is not None:
                under_way[self.number] = known
            raise

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
            ends = final or (single and response is not None)
            if body.words:
                self._send(body, [position] if ends else ())
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
        self.settle()

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
                    self._send(body, [position])
            except mem.MemoryFault:
                self.end_process()
            finally:
                self.lock.release()

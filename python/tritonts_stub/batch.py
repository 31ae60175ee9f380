"""Batches: what is read of them, and what is written for them (protocol.h)."""

import threading
from array import array
from collections import deque

from . import memory as mem
from . import outputs as rules
from .datatypes import BYTES, SIZES, numpy
from .errors import TritonError, TritonModelException, code_of, named_text_of, text_of
from .request import FINAL, InferenceRequest, InferenceResponse, Said, read_said
from .tensor import Stretch, write

RESPONSE, ERROR, END, TOGETHER = 1, 2, 3, 4
#: Arrays of fewer bytes are copied: that costs less than to look where they lie.
LARGE = 65536
#: The server answers "there is room" for so many responses.
ROOM = 16


def read(instance, number, offset, count):
    """The batch that a message tells of, and its requests."""
    memory = instance.memory
    words = memory.words(offset, count)
    if number in instance.under_way:
        raise mem.MemoryFault("the server has given two batches one number")
    batch = instance.under_way[number] = Batch(instance, number, words[0])
    inputs, names = instance.inputs, instance.output_names
    requests, at = [], 2
    for _ in range(words[1]):
        alike, rows, priority, timeout, place, size, counted, wanted = words[at : at + 8]
        at += 8
        request_id, parameters = read_said(memory.bytes[place : place + size]) if size else ("", {})
        asked = [names[index] for index in words[at : at + wanted]] if wanted else None
        at += wanted
        said = Said(request_id, parameters, priority, timeout, asked, counted == 1, rows)
        stretches = {}
        present = words[at]
        at += 1
        for _ in range(present):
            index, rank = words[at], words[at + 1]
            at += 2
            shape = tuple(words[at : at + rank])
            at += rank
            name, datatype = inputs[index]
            size, place = words[at], words[at + 1]
            stretches[name] = Stretch(memory, datatype, shape, size, place, alike, batch=batch)
            if size >= LARGE:
                batch.large.append((place, place + alike * size))
            at += 2
        position = len(requests)
        requests += [InferenceRequest._received(batch, position + k, stretches, k, said) for k in range(alike)]
        batch.said += [said] * alike
    return batch, requests


class Batch:
    """Requests that are run together.

    Messages about it have its number (protocol.h). Nothing is sent for it once all its requests are answered: all that is
    sent is sent with the lock, and `open` is looked at first.
    """

    __slots__ = (
        "instance", "number", "said", "lock", "open", "answered", "sent", "senders", "large", "cancelled", "missed",
    )  # fmt: skip

    def __init__(self, instance, number, count):
        self.instance, self.number = instance, number
        #: What the requests say. The batch does not keep the requests, whose end it waits for.
        self.said = []
        #: Where its large inputs lie.
        self.large = []
        self.lock = threading.Lock()
        #: Requests that have not had their last response.
        self.open = count
        self.answered = [False] * count
        #: Of a model that is not decoupled: requests whose response was sent.
        self.sent = None
        #: Positions whose senders were taken.
        self.senders = set()
        #: Requests that were known to be cancelled.
        self.cancelled = ()
        #: Requests that nobody can answer any more, and why.
        self.missed = None

    @property
    def has_spoken(self):
        """Whether a response was sent, or may be by a sender that was taken."""
        with self.lock:
            return bool(self.senders) or any(self.answered)

    # --- Results of execute.

    def place_of(self, array):
        """Where a large array lies if it is an input, or a part of one, as it is; else None."""
        if array is None or array.nbytes < LARGE or not array.flags.c_contiguous or not array.dtype.isnative:
            return None
        if not self.large:
            return None
        place = array.ctypes.data - self.instance.memory.base
        end = place + array.nbytes
        return place if any(first <= place and end <= past for first, past in self.large) else None

    def fail(self, error):
        """Fails all requests that are open. Returns whether there were any."""
        with self.lock:
            open_ = self.open > 0
            if open_:
                body = Body(self)
                body.error(-1, error._number(), error.message())
                self._end(body)
        self.settle()
        return open_

    def give(self, results):
        """Responds with what `execute` has returned."""
        instance, count = self.instance, len(self.said)
        if instance.decoupled:
            if results is not None:
                raise TritonModelException(
                    "execute() of a decoupled model has to return None, and respond with response senders"
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
                # Senders may have answered everything before, and the batch has ended then.
                if body.words:
                    self._send(body)
        self.part()

    @staticmethod
    def _no_response(position, result):
        """The error of a request whose result is no response. The others of the batch have theirs."""
        return TritonError(
            "expected execute() to return InferenceResponses but result %d is %s" % (position, type(result).__name__)
        )

    def _give_together(self, results):
        """Writes the outputs of all requests one after the other, if they are alike."""
        if not self.instance.batching:
            return False
        first = results[0]._tensors
        for result in results:
            if result._error is not None or len(result._tensors) != len(first):
                return False
        columns = []
        for i, tensor in enumerate(first):
            name, number, tail = tensor._name, tensor._number, tensor._shape[1:]
            known = self.instance.outputs.get(name)
            if known is None:
                if rules.lacking(self.instance, results[0], None) is not None:
                    return False
                self.instance.drop(name)
                continue
            if number == BYTES or tensor._array is None or number != known[1] or not rules.fits(known[2], tail):
                return False
            arrays = []
            for said, result in zip(self.said, results):
                one = result._tensors[i]
                shape = one._shape
                if (
                    one._name != name
                    or one._number != number
                    or one._array is None
                    or shape[1:] != tail
                    or not shape
                    or shape[0] != said.rows
                    or self.place_of(one._array) is not None
                ):
                    return False
                arrays.append(one._array)
            columns.append((tensor, arrays, tail))
        self._write_together(columns)
        return True

    def _write_together(self, columns):
        np, memory, outputs = numpy(), self.instance.memory, self.instance.outputs
        rows = sum(said.rows for said in self.said)
        words, places, size = [TOGETHER, len(columns)], [], 0
        for tensor, _, tail in columns:
            items = rows
            for dim in tail:
                items *= dim
            bytes_ = items * SIZES[tensor._number]
            places.append((len(words) + 4 + len(tail), size, items))
            words += [outputs[tensor._name][0], tensor._number, len(tail), *tail, bytes_, 0]
            size += mem.aligned(bytes_)
        lent = mem.LENT_BYTES if size >= LARGE else 0
        head = lent + mem.aligned(8 * len(words))
        place = memory.allocate(head + size)
        for (tensor, arrays, tail), (at, offset, items) in zip(columns, places):
            begin = words[at] = place + head + offset
            if items == 0:
                continue
            dtype = arrays[0].dtype.newbyteorder("=")
            target = np.frombuffer(memory.bytes, dtype, items, begin).reshape((rows,) + tail)
            if len(arrays) == 1:
                target[...] = arrays[0]
            else:
                np.concatenate(arrays, out=target)
        put_words(memory, place + lent, words)
        self.open = 0
        self.answered = [True] * len(self.said)
        self.instance.under_way.pop(self.number, None)
        memory.send(mem.ANSWER, self.number, place + lent, len(words), mem.LAST | (mem.LENT if lent else 0), place)

    def part(self):
        """`execute` has returned: what is open follows."""
        with self.lock:
            if self.open > 0:
                self.instance.memory.send(mem.PART, self.number)
        self.settle()

    # --- Responses of their own.

    def sender(self, position):
        with self.lock:
            self.senders.add(position)
        return InferenceResponseSender(self, position)

    def is_cancelled(self, position):
        # The server asks nobody about a request that was answered: the number of its batch may be gone.
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
        """With the lock, so that nothing of this batch follows its end."""
        if self.open == 0:
            self.instance.under_way.pop(self.number, None)
        body.send(self.open == 0)

    def respond(self, position, response, final):
        """Sends a response. Returns what is wrong with that."""
        with self.lock:
            if self.answered[position]:
                return "its last response was sent already"
            single = not self.instance.decoupled
            if single and response is not None and self.sent and position in self.sent:
                return "a model that is not decoupled sends one response to a request"
            body = Body(self)
            if response is not None:
                # The one response of a model that is not decoupled is the last one, whatever follows.
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

    # --- Requests that nobody can answer any more.

    def miss(self, position, why):
        """Fails a request whose sender is gone. It is called where Python destroys objects, so anywhere, also with the lock."""
        if self.answered[position]:
            return
        if self.missed is None:
            self.missed = deque()
        self.missed.append((position, why))
        try:
            self.settle()
        except mem.MemoryFault:
            pass  # nobody takes it any more, or this is a process that the model has forked

    def settle(self):
        """Sends what `miss` has noted. Who has the lock calls it when it has left that."""
        while self.missed and self.lock.acquire(blocking=False):
            try:
                while self.missed:
                    position, why = self.missed.popleft()
                    if self.answered[position]:
                        continue
                    body = Body(self)
                    text = "model '%s': no answer: %s" % (self.instance.model, why)
                    body.error(position, TritonError.INTERNAL, text)
                    self._answered(position)
                    self._send(body)
            finally:
                self.lock.release()


class InferenceResponseSender:
    """Sends responses to a request (Triton: `pb_utils.InferenceResponseSender`). Any thread may use it."""

    __slots__ = ("_batch", "_position", "_room", "_gone", "_final")

    def __init__(self, batch, position):
        self._batch, self._position = batch, position
        # The first response is always taken.
        self._room, self._gone, self._final = 1, False, False

    def send(self, response=None, flags=0):
        """Sends a response, with the flag FINAL or before it. It waits while the caller reads too slowly."""
        if flags not in (0, FINAL):
            raise TritonModelException("flags: expected 0 or TRITONSERVER_RESPONSE_COMPLETE_FINAL but got %s" % flags)
        final = flags == FINAL
        if response is None and not final:
            raise TritonModelException("expected a response, or the flag TRITONSERVER_RESPONSE_COMPLETE_FINAL")
        if response is not None and not isinstance(response, InferenceResponse):
            raise TritonModelException("expected an InferenceResponse but got %s" % type(response).__name__)
        if self._final:
            raise TritonModelException("the response sender has been closed: its last response was sent already")
        batch = self._batch
        if not batch.instance.decoupled and final and batch.answered[self._position]:
            self._final = True
            return
        if response is not None and batch.said[self._position].counted and not self._gone:
            if self._room == 0 and not batch.answered[self._position]:
                answer = batch.instance.memory.ask(mem.ASK_ROOM, batch.number, self._position)
                self._gone, self._room = answer != 1, ROOM
            self._room -= 1
        if self._gone and not final:
            return
        wrong = batch.respond(self._position, None if self._gone else response, final)
        self._final = self._final or final
        if wrong is not None:
            raise TritonModelException(wrong)

    def is_cancelled(self):
        return self._batch.is_cancelled(self._position)

    def __del__(self):
        if not self._final:
            self._batch.miss(
                self._position,
                "the model has dropped its response sender before it sent the last response"
                " (flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL); a thread that had it may have ended",
            )


class Body:
    """The words of an answer, and what they are about."""

    __slots__ = ("batch", "words", "parts", "size", "in_place", "is_fault")

    def __init__(self, batch, in_place=False, is_fault=False):
        self.batch, self.words, self.parts, self.size = batch, [], [], 0
        #: It says that an answer has no room. If it has none itself, nothing further is tried.
        self.is_fault = is_fault
        #: Inputs that are passed on stay where they lie. A model that goes on may write to them.
        self.in_place = in_place

    def error(self, position, code, message):
        text = message.encode(errors="replace")
        self.words += [ERROR, position, int(code), len(text), 0]
        self._add(len(self.words) - 1, text, len(text))

    def end(self, position):
        self.words += [END, position]

    def response(self, position, response, final):
        """Adds a response. What cannot be written becomes its request's error, and no other's."""
        model = self.batch.instance.model
        try:
            if response._error is not None:
                self.error(position, response._error._number(), "model '%s': %s" % (model, response._error.message()))
                return
            said = self.batch.said[position]
            outputs = self._outputs(response, said.wanted, said.rows)
        except TritonModelException as error:
            self.error(position, code_of(error), "model '%s': %s" % (model, text_of(error)))
            return
        except Exception as error:
            text = "model '%s': its response cannot be written: %s" % (model, named_text_of(error))
            self.error(position, TritonError.INTERNAL, text)
            return
        self.words += [RESPONSE, position, 1 if final else 0, len(outputs)]
        for index, tensor, data, size, place in outputs:
            shape = tensor._shape
            self.words += [index, tensor._number, len(shape), *shape, size, place or 0]
            if place is None:
                self._add(len(self.words) - 1, data, size)

    def _outputs(self, response, wanted, rows):
        instance, found = self.batch.instance, []
        for tensor in response._tensors:
            name = tensor._name
            known = instance.outputs.get(name)
            if known is None:
                rules.drop(instance, name, rules.lacking(instance, response, wanted))
                continue
            if wanted is not None and name not in wanted:
                continue
            rules.check(tensor, known, instance.batching, rows)
            place = self._place_of(tensor) if self.in_place and tensor._number != BYTES else None
            if place is not None:
                found.append((known[0], tensor, None, tensor._size(), place))
                continue
            try:
                data = tensor._data()
            except TritonModelException:
                raise
            except Exception as error:
                raise TritonModelException("output '%s' cannot be written: %s" % (name, named_text_of(error))) from error
            size = data.nbytes if not isinstance(data, bytes) else len(data)
            found.append((known[0], tensor, data, size, None))
        return found

    def _place_of(self, tensor):
        """Where an input that is passed on lies."""
        stretch = tensor._stretch
        if stretch is None:
            return self.batch.place_of(tensor._array)
        return tensor._place(self.batch.instance.memory) if stretch.batch is self.batch else None

    def _add(self, at, data, size):
        """Data whose place is to be word `at`."""
        self.parts.append((at, self.size, data, size))
        self.size += mem.aligned(size)

    def send(self, last):
        batch, words = self.batch, self.words
        memory = batch.instance.memory
        lent = mem.LENT_BYTES if self.size >= LARGE else 0
        head = lent + mem.aligned(8 * len(words))
        try:
            place = memory.allocate(head + self.size)
        except mem.MemoryFault as fault:
            if not self.parts or self.is_fault:
                raise
            self._send_fault(str(fault), last)
            return
        try:
            for at, offset, data, size in self.parts:
                words[at] = place + head + offset
                write(memory, place + head + offset, size, data)
            put_words(memory, place + lent, words)
        except BaseException:
            memory.free(place)
            raise
        word = (mem.LAST if last else 0) | (mem.LENT if lent else 0)
        memory.send(mem.ANSWER, batch.number, place + lent, len(words), word, place)

    def _send_fault(self, text, last):
        """Instead of outputs that have no room: each request that has some gets an error."""
        words, instance = self.words, self.batch.instance
        positions, at = [], 0
        while at < len(words):
            kind = words[at]
            if kind == END:
                at += 2
                continue
            positions.append(words[at + 1])
            if kind == ERROR:
                at += 5
                continue
            outputs, at = words[at + 3], at + 4
            for _ in range(outputs):
                at += 5 + words[at + 2]
        body = Body(self.batch, is_fault=True)
        code = code_of(TritonModelException("", "UNAVAILABLE", "NO_MEMORY"))
        for position in positions:
            body.error(position, code, "model '%s': %s" % (instance.model, text))
            if position >= 0:
                self.batch._answered(position)
        body.send(last or self.batch.open == 0)


def put_words(memory, place, words):
    memory.bytes[place : place + 8 * len(words)].cast("q")[:] = array("q", words)

"""Writes an answer: responses, errors and ends of requests of one batch (protocol.h)."""

from . import memory as mem
from . import outputs as rules
from .datatypes import BYTES
from .errors import TritonError, TritonModelException, code_of, named_text_of, text_of
from .tensor import write

RESPONSE, ERROR, END, AGAIN, PARAMETERS = 1, 2, 3, 5, 6


class Body:
    """The words of an answer, and the data that they refer to."""

    __slots__ = ("batch", "words", "parts", "size", "in_place", "is_fault")

    def __init__(self, batch, in_place=False, is_fault=False):
        self.batch, self.words, self.parts, self.size = batch, [], [], 0
        #: Whether this body reports that an answer had no room. If it has no room either, nothing more is tried.
        self.is_fault = is_fault
        #: Whether inputs that are passed on as outputs stay in place. Not if the model goes on: it may write to them.
        self.in_place = in_place

    def error(self, position, code, message):
        text = message.encode(errors="replace")
        self.words += [ERROR, position, int(code), len(text), 0]
        self._add(len(self.words) - 1, text, len(text))

    def end(self, position):
        self.words += [END, position]

    def again(self, position):
        self.words += [AGAIN, position]

    def response(self, position, response, final):
        """Adds a response. If it cannot be written, only its request fails."""
        model = self.batch.instance.model
        try:
            if response._error is not None:
                self.error(position, response._error._number(), "model '%s': %s" % (model, response._error.message()))
                return
            attributes = self.batch.attributes[position]
            outputs = self._outputs(response, attributes.wanted, attributes.rows)
            parameters = response._parameter_bytes()
        except TritonModelException as error:
            self.error(position, code_of(error), "model '%s': %s" % (model, text_of(error)))
            return
        except Exception as error:
            text = "model '%s': its response cannot be written: %s" % (model, named_text_of(error))
            self.error(position, TritonError.INTERNAL, text)
            return
        if parameters is not None:
            self.words += [PARAMETERS, position, len(parameters), 0]
            self._add(len(self.words) - 1, parameters, len(parameters))
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
        """The place of an input that is passed on as an output."""
        span = tensor._span
        if span is None:
            return self.batch.place_of(tensor._array)
        return tensor._place(self.batch.instance.memory) if span.batch is self.batch else None

    def _add(self, at, data, size):
        """Adds data. Its place is written to word `at` later."""
        self.parts.append((at, self.size, data, size))
        self.size += mem.aligned(size)

    def send(self, last):
        batch, words = self.batch, self.words
        memory = batch.instance.memory
        lent = mem.LENT_BYTES if self.size >= mem.LARGE else 0
        head = lent + mem.aligned(8 * len(words))
        try:
            place = memory.allocate(head + self.size)
        except mem.MemoryFault as fault:
            if not self.parts or self.is_fault:
                raise
            self._send_apart(str(fault), last)
            return
        try:
            for at, offset, data, size in self.parts:
                words[at] = place + head + offset
                write(memory, place + head + offset, size, data)
            memory.put_words(place + lent, words)
        except BaseException:
            memory.free(place)
            raise
        word = (mem.LAST if last else 0) | (mem.LENT if lent else 0)
        memory.send(mem.ANSWER, batch.number, place + lent, len(words), word, place)

    def _send_apart(self, text, last):
        """Sends each request's part by itself, if there is no room for all. A part without room fails its request."""
        parts = list(self._ranges())
        if len(parts) == 1:
            return self._send_fault(text, last)
        for begin, end in parts:
            body = Body(self.batch)
            body.words = self.words[begin:end]
            for at, _, data, size in self.parts:
                if begin <= at < end:
                    body._add(at - begin, data, size)
            body.send(last and end == len(self.words))

    def _ranges(self):
        """The start and end of each request's words."""
        words, at = self.words, 0
        while at < len(words):
            begin = at
            if words[at] == PARAMETERS:
                # They belong to the response behind them.
                at += 4
            kind = words[at]
            if kind == RESPONSE:
                outputs, at = words[at + 3], at + 4
                for _ in range(outputs):
                    at += 5 + words[at + 2]
            else:
                at += 2 if kind in (END, AGAIN) else 5
            yield begin, at

    def _send_fault(self, text, last):
        """Sends the request's error instead of a part that has no room."""
        batch, position = self.batch, self.words[1]
        body = Body(batch, is_fault=True)
        code = code_of(TritonModelException("", "UNAVAILABLE", "NO_MEMORY"))
        body.error(position, code, "model '%s': %s" % (batch.instance.model, text))
        # A response that was not final is final now.
        batch._send(body, [position] if position >= 0 else (), last)

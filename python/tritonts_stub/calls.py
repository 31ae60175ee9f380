"""Calls of other models during a batch (Triton: BLS)."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from . import instance as instances
from . import memory as mem
from .attributes import read_parameters, write_attributes
from .errors import TritonError, TritonModelException, code_of, without_origin
from .response import InferenceResponse
from .tensor import Span, Tensor, write

ANSWERED, NO_MEMORY, MOVED, ENDED = 1, 2, 3, 4
MOST_TRIES = 64
#: The prefix of the names of threads for awaited calls.
POOL = "tritonts call"

_models = {}
_pool = None
_pool_lock = threading.Lock()


class Model:
    """A model that is called, with the server's data about its version."""

    def __init__(self, found):
        self.uid, self.revision = found["uid"], found["revision"]
        self.decoupled = found["decoupled"]
        self.inputs = {one["name"]: index for index, one in enumerate(found["inputs"])}
        self.outputs = [one["name"] for one in found["outputs"]]


def _model(name, version, again):
    key = (name, version)
    found = None if again else _models.get(key)
    if found is None:
        answer = instances.current().control.ask("resolve", model=name, version=version)
        found = _models[key] = Model(answer)
    return found


def call(request, decoupled):
    """Calls a model, and waits for the answer."""
    try:
        running = Call(request, decoupled)
    except TritonModelException as error:
        return _failed(error, decoupled)
    if decoupled:
        return ResponseIterator(running)
    try:
        return running.next() or InferenceResponse([], TritonError("the model sent no response"))
    except TritonModelException as error:
        return _failed(error, False)


def call_later(request, decoupled):
    """`call` on a thread of a pool, to be awaited. The pool's size limits the calls that wait at once."""
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = ThreadPoolExecutor(instances.current().threads, POOL)
    batch = instances.batch.get()

    def run():
        instances.batch.set(batch)
        return call(request, decoupled)

    return asyncio.get_running_loop().run_in_executor(_pool, run)


def _failed(error, decoupled):
    response = InferenceResponse([], TritonError._of(str(error), code_of(error)))
    return iter([response]) if decoupled else response


class Answer:
    """An answer in shared memory. Its memory returns to the server when this object is destroyed."""

    __slots__ = ("memory", "place")

    def __init__(self, memory, place):
        self.memory, self.place = memory, place

    def __del__(self):
        try:
            self.memory.send(mem.READ, 0, self.place)
        except mem.MemoryFault:
            pass  # The server is gone.


class Call:
    """A call under way."""

    ended, place = True, 0

    def __init__(self, request, decoupled):
        instance = instances.current()
        if not instance.serves:
            raise TritonModelException("models can be called only from execute(), not from initialize() or finalize()")
        if request._model is None:
            raise TritonModelException(
                "exec() and async_exec() take only requests that the model made, not those that execute() received"
            )
        self.memory, self.request, self.decoupled = instance.memory, request, decoupled
        self.batch = instances.batch.get()
        if self.batch is None and len(instance.under_way) == 1:
            (self.batch,) = instance.under_way.copy().values()
        self.word = 0
        self.lock = threading.Lock()
        self.state = None
        for attempt in range(MOST_TRIES):
            self.model = _model(request._model, request._version, attempt > 0)
            self._send()
            self.state = self.memory.wait_for(self.word)
            if self.state[0] != MOVED:
                return
            self._close()
        raise TritonModelException(
            "model '%s' was reloaded %d times during the call: make the call again" % (request._model, MOST_TRIES),
            "UNAVAILABLE",
        )

    def _send(self):
        memory, request, model = self.memory, self.request, self.model
        said = request._attributes
        attributes = write_attributes(said.id, said.parameters, said.correlation_id, request.flags())
        number = self.batch.number if self.batch is not None else 0
        words = [number, 0xFFFFFFFF, model.uid, model.revision, 1 if self.decoupled else 0]
        words += [request._attributes.priority, request._attributes.timeout, 0, len(attributes)]
        parts, size = [(7, 0, attributes, len(attributes))] if attributes else [], mem.aligned(len(attributes))
        wanted = [self._output(name) for name in request._wanted]
        words.append(len(wanted))
        words += wanted
        words.append(len(request._inputs))
        for tensor in request._inputs:
            index = model.inputs.get(tensor._name)
            if index is None:
                raise TritonModelException(
                    "model '%s' has no input '%s'; it has %s"
                    % (request._model, tensor._name, ", ".join(model.inputs)),
                    "INVALID_ARG",
                )
            shape, place = tensor._shape, tensor._place(memory)
            words += [index, tensor._number, len(shape), *shape]
            if place is not None:
                words += [tensor._size(), place]
                continue
            data = tensor._data()
            bytes_ = data.nbytes if not isinstance(data, bytes) else len(data)
            words += [bytes_, 0]
            parts.append((len(words) - 1, size, data, bytes_))
            size += mem.aligned(bytes_)
        head = mem.REPLY_BYTES + mem.aligned(8 * len(words))
        place = memory.allocate(head + size)
        self.word = self.place = place
        self.ended = False
        for at, offset, data, bytes_ in parts:
            words[at] = place + head + offset
            write(memory, place + head + offset, bytes_, data)
        memory.put_words(place + mem.REPLY_BYTES, words)
        memory.reset(place)
        memory.send(mem.CALL, 0, place + mem.REPLY_BYTES, len(words), place)

    def _output(self, name):
        try:
            return self.model.outputs.index(name)
        except ValueError:
            raise TritonModelException(
                "model '%s' has no output '%s'; it has %s"
                % (self.request._model, name, ", ".join(self.model.outputs)),
                "INVALID_ARG",
            ) from None

    def next(self):
        """The next response; None: there are no more."""
        if self.ended:
            return None
        if self.state is None:
            self.memory.reset(self.word)
            self.memory.send(mem.NEXT, word=self.word)
            self.state = self.memory.wait_for(self.word)
        (state, place, count), self.state = self.state, None
        if state != ANSWERED:
            self._close()
            if state == ENDED:
                return None
            raise TritonModelException(
                "model '%s': the system has no memory left for the answer to the call" % self.request._model,
                "UNAVAILABLE",
                "NO_MEMORY",
            )
        memory = self.memory
        owner = Answer(memory, place)
        words = memory.words(place, count)
        code, final, empty, size, text, parameter_bytes, parameters, outputs = words[:8]
        if final or not self.decoupled:
            self._close()
        if code != 0:
            message = bytes(memory.bytes[text : text + size]).decode(errors="replace")
            return InferenceResponse([], TritonError._of(without_origin(message), code))
        if empty:
            return None
        tensors, at = [], 8
        for _ in range(outputs):
            index, number, rank = words[at : at + 3]
            at += 3
            shape = tuple(words[at : at + rank])
            at += rank
            span = Span(memory, number, shape, words[at], words[at + 1], 1, owner)
            at += 2
            tensors.append(Tensor._received(self.model.outputs[index], span, 0))
        response = InferenceResponse(tensors)
        if parameter_bytes:
            response._parameters = read_parameters(memory.bytes[parameters : parameters + parameter_bytes])
        return response

    def cancel(self):
        # Cancel with the lock: once the place is free, another call may use it.
        with self.lock:
            if not self.ended:
                self.memory.send(mem.CANCEL, word=self.word)

    def _close(self):
        with self.lock:
            self.ended = True
            if self.place:
                self.memory.free(self.place)
                self.place = 0

    def __del__(self):
        # The server may still write to the place of a call that has not ended, so wait for the end before freeing it.
        if not self.ended and self.place:
            try:
                self.cancel()
                while self.next() is not None:
                    pass
            except (TritonModelException, mem.MemoryFault):
                pass


class ResponseIterator:
    """The responses of a decoupled model, one after the other."""

    def __init__(self, running):
        self._call = running

    def __iter__(self):
        return self

    def __next__(self):
        response = self._call.next()
        if response is None:
            raise StopIteration
        return response

    def cancel(self):
        """Cancels the request, because no further responses are needed."""
        self._call.cancel()

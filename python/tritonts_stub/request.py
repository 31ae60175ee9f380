"""Requests that models receive or make."""

import json

from . import calls, instance
from .attributes import Attributes, checked_flags, checked_id
from .errors import TritonModelException, unsupported
from .tensor import Tensor

RELEASE_ALL, RELEASE_RESCHEDULE = 1, 2
class PreferredMemory:
    """The caller's preferred memory for outputs. Here all outputs are in CPU memory."""

    def __init__(self, preferred_memory_type, preferred_device_id=0):
        self.type, self.device = preferred_memory_type, preferred_device_id


class InferenceTrace:
    """The trace of a request. Requests are not traced here."""

    def get_context(self):
        return None


class InferenceRequest:
    """A request of a batch, or a request to another model (Triton: `pb_utils.InferenceRequest`)."""

    __slots__ = (
        "_batch", "_position", "_spans", "_at", "_attributes", "_inputs", "_model", "_version", "_wanted", "_sender",
        "_flags",
    )  # fmt: skip

    def __init__(
        self,
        model_name,
        requested_output_names,
        inputs,
        request_id="",
        correlation_id=0,
        model_version=-1,
        flags=0,
        timeout=0,
        preferred_memory=None,
        trace=None,
        parameters=None,
    ):
        if isinstance(preferred_memory, PreferredMemory) and preferred_memory.type != 0:
            raise unsupported("preferred_memory: outputs are in the memory of the CPU here")
        if isinstance(parameters, str):
            parameters = json.loads(parameters)
        for one in inputs:
            if not isinstance(one, Tensor):
                raise TritonModelException("inputs: expected Tensors but got %s" % type(one).__name__)
        self._batch, self._position, self._spans, self._at, self._sender = None, -1, None, 0, None
        self._attributes = Attributes(
            str(request_id), dict(parameters or {}), 0, int(timeout), None, False, 0, checked_id(correlation_id)
        )
        self._flags = checked_flags(flags)
        self._inputs, self._model, self._version = list(inputs), str(model_name), int(model_version)
        self._wanted = [str(name) for name in requested_output_names]

    @staticmethod
    def _received(batch, position, spans, at, attributes):
        self = object.__new__(_Awaited if batch.instance.decoupled else InferenceRequest)
        self._batch, self._position, self._spans, self._at = batch, position, spans, at
        self._attributes, self._inputs, self._sender, self._flags = attributes, None, None, attributes.flags
        self._model = self._version = self._wanted = None
        return self

    def inputs(self):
        """The tensors, in the order of the configuration."""
        if self._inputs is None:
            self._inputs = [Tensor._received(name, span, self._at) for name, span in self._spans.items()]
        return self._inputs

    def _input(self, name):
        if self._inputs is not None:
            return next((one for one in self._inputs if one._name == name), None)
        span = self._spans.get(name)
        return None if span is None else Tensor._received(name, span, self._at)

    def request_id(self):
        return self._attributes.id

    def correlation_id(self):
        """The id of the request's sequence, an int or a str; 0: it belongs to none."""
        return self._attributes.correlation_id

    def flags(self):
        """Whether the request starts or ends its sequence: TRITONSERVER_REQUEST_FLAG_SEQUENCE_START and _END."""
        return self._flags

    def set_flags(self, flags):
        self._flags = checked_flags(flags)

    def timeout(self):
        """The time-out in microseconds; 0: none was given."""
        return self._attributes.timeout

    def priority(self):
        return self._attributes.priority

    def parameters(self):
        """The parameters as JSON."""
        return json.dumps(self._attributes.parameters)

    def trace(self):
        return InferenceTrace()

    def model_name(self):
        return instance.current().model if self._model is None else self._model

    def requested_output_names(self):
        if self._model is not None:
            return list(self._wanted)
        wanted = self._attributes.wanted
        return list(instance.current().output_names) if wanted is None else list(wanted)

    def preferred_memory(self):
        return PreferredMemory(0, 0)

    def set_release_flags(self, flags):
        """RESCHEDULE: the request runs again in a later batch, when `execute` has returned, instead of ending."""
        if flags not in (RELEASE_ALL, RELEASE_RESCHEDULE):
            raise TritonModelException(
                "expected TRITONSERVER_REQUEST_RELEASE_ALL or _RESCHEDULE but got %s" % flags, "INVALID_ARG"
            )
        if self._batch is None:
            raise TritonModelException("only a request of execute() has release flags")
        if flags == RELEASE_RESCHEDULE and not self._batch.instance.iterative:
            raise unsupported(
                "TRITONSERVER_REQUEST_RELEASE_RESCHEDULE: a request runs again only if the configuration says"
                " sequence_batching { iterative_sequence: true }"
            )
        self._batch.reschedule(self._position, flags == RELEASE_RESCHEDULE)

    def is_cancelled(self):
        if self._batch is None:
            return False
        return self._batch.is_cancelled(self._position)

    def get_response_sender(self):
        if self._batch is None:
            raise TritonModelException("only a request of execute() has a response sender")
        if self._sender is None:
            self._sender = self._batch.sender(self._position)
        return self._sender

    def exec(self, decoupled=False):
        """Calls the model. Waits for its response, or returns an iterator of responses if `decoupled`."""
        return calls.call(self, decoupled)

    def async_exec(self, decoupled=False):
        """`exec`, to be awaited."""
        return calls.call_later(self, decoupled)


class _Awaited(InferenceRequest):
    """A request of a decoupled model. Only its sender can answer it; without this object no sender can be taken."""

    __slots__ = ()

    def __del__(self):
        if self._sender is None:
            self._batch.abandon(self._position, "the model dropped the request without taking its response sender")


_Awaited.__name__ = InferenceRequest.__name__


def input_tensor(request, name):
    """The input of that name; None if the request has none."""
    return request._input(name)

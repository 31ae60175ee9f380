"""Responses that models make, or get from other models."""

from .errors import TritonError, TritonModelException, unsupported
from .tensor import Tensor

#: The flag of a request's final response.
FINAL = 1


class InferenceResponse:
    """A response (Triton: `pb_utils.InferenceResponse`)."""

    __slots__ = ("_tensors", "_error")

    def __init__(self, output_tensors=(), error=None, parameters=None):
        if parameters not in (None, {}, "", "{}"):
            raise unsupported("InferenceResponse: parameters are not supported")
        if error is not None and not isinstance(error, TritonError):
            error = TritonError(str(error))
        self._tensors, self._error = list(output_tensors), error
        for tensor in self._tensors:
            if not isinstance(tensor, Tensor):
                raise TritonModelException(
                    "output_tensors: expected pb_utils.Tensor objects but got %s" % type(tensor).__name__, "INVALID_ARG"
                )

    def output_tensors(self):
        return self._tensors

    def has_error(self):
        return self._error is not None

    def error(self):
        return self._error

    def parameters(self):
        return "{}"


def output_tensor(response, name):
    return next((one for one in response._tensors if one._name == name), None)

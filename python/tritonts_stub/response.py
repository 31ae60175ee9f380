"""Responses that models make, or get from other models."""

import json

from .attributes import write_parameters
from .errors import TritonError, TritonModelException
from .tensor import Tensor

#: The flag of a request's final response.
FINAL = 1


class InferenceResponse:
    """A response (Triton: `pb_utils.InferenceResponse`)."""

    __slots__ = ("_tensors", "_error", "_parameters")

    def __init__(self, output_tensors=(), error=None, parameters=None):
        self._parameters = _checked(parameters) if parameters else None
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
        """The parameters as JSON."""
        return json.dumps(self._parameters or {})

    def _parameter_bytes(self):
        """The parameters as the server reads them; None: there are none."""
        return write_parameters(self._parameters) if self._parameters else None


def _checked(parameters):
    """Parameters that a model gave: a dict, or JSON."""
    if isinstance(parameters, str):
        parameters = json.loads(parameters)
    if not isinstance(parameters, dict):
        raise TritonModelException(
            "parameters: expected a dict or its JSON but got %s" % type(parameters).__name__, "INVALID_ARG"
        )
    # Here, so that the model sees the error where it makes the response.
    write_parameters(parameters)
    return dict(parameters)


def output_tensor(response, name):
    return next((one for one in response._tensors if one._name == name), None)

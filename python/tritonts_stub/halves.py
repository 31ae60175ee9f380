"""Runs a batch whose `execute` has raised again in halves, if the model allows it. As src/javascript/batches/halves.ts."""

from .errors import ModelFault, TritonError, code_of
from .response import InferenceResponse


def may_be_anothers(error):
    """Whether a single request may be the reason of a batch's error."""
    if not isinstance(error, Exception) or isinstance(error, ModelFault):
        return False
    return code_of(error) & 0xFF not in (TritonError.CANCELLED, TritonError.UNAVAILABLE, TritonError.UNSUPPORTED)


def run(requests, error, execute, error_of):
    """Returns one response for each request. `execute` runs some of the requests; `error_of` converts an exception."""
    if len(requests) == 1 or not may_be_anothers(error):
        return [InferenceResponse([], error_of(error)) for _ in requests]
    middle = (len(requests) + 1) // 2
    responses = []
    for half in (requests[:middle], requests[middle:]):
        try:
            given = execute(list(half))
            if not isinstance(given, (list, tuple)) or len(given) != len(half):
                raise TypeError("expected execute() to return a list of %d responses" % len(half))
        except Exception as raised:
            given = run(half, raised, execute, error_of)
        responses += given
    return responses

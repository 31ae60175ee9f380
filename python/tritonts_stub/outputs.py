"""Checks that outputs have the configuration's datatype and shape."""

from .datatypes import BF16, BYTES, NAMES, numpy_type
from .errors import TritonModelException


def fits(dims, tail):
    """Whether a shape without the batch dimension matches these dims."""
    return len(dims) == len(tail) and all(dim in (-1, size) for dim, size in zip(dims, tail))


def check(tensor, known, batching, rows):
    """Raises if an output of a request with so many rows is invalid."""
    _, number, dims = known
    shape = tuple(tensor._shape)
    wanted = (rows,) + dims if batching else dims
    if tensor._number == number and fits(wanted, shape):
        return
    raise TritonModelException(
        "output '%s': expected %s %s but the model gave %s %s: %s"
        % (tensor._name, NAMES[number], list(wanted), NAMES[tensor._number], list(shape), _advice(tensor, known, wanted))
    )


def lacking(instance, response, wanted):
    """A wanted output that a response does not have; None: it has all of them."""
    given = {tensor._name for tensor in response._tensors}
    return next((one for one in (wanted or instance.output_names) if one not in given), None)


def drop(instance, name, missing):
    """Ignores an output that is not in the configuration. Raises if a wanted output is missing (`missing`)."""
    if missing is not None:
        raise TritonModelException(
            "unknown output '%s'; the configuration has %s, and the response lacks '%s'"
            % (name, ", ".join(instance.output_names), missing)
        )
    instance.drop(name)


def _advice(tensor, known, wanted):
    _, number, dims = known
    if tensor._number != number:
        if BF16 in (number, tensor._number):
            return "numpy has no BF16; a tensor of another library is given with Tensor.from_dlpack()"
        name = "object" if number == BYTES else "numpy.%s" % numpy_type(number).type.__name__
        return "convert the array with astype(%s)" % name
    if wanted is dims:
        return "the dims of the configuration are the whole shape, as max_batch_size is 0"
    if fits(dims, tensor._shape):
        return "it lacks the batch dimension, which array[numpy.newaxis] adds, or numpy.stack of the rows"
    return "the first dimension is the request's rows, and the dims of the configuration follow"

"""Which argument of forward an input is, and which value of its result an output. As native/backends/pytorch/naming.h."""

import re

from tritonts_stub.errors import TritonModelException

_index = re.compile("[0-9]*")
#: An index that no model has. More digits are as many.
_MOST = 0xFFFFFFFF


def index_in(name):
    """The number after the first "__" of a name; none there is 0. None: it has no "__", or something else after it."""
    _, mark, digits = name.partition("__")
    if not mark or not _index.fullmatch(digits):
        return None
    return min(int(digits or "0"), _MOST)


def _indexes_in(names):
    indexes = [index_in(name) for name in names]
    return None if None in indexes else indexes


def arguments_of(inputs, arguments):
    """The argument of each input: all names are arguments, or all have an index, or their order counts."""
    if all(name in arguments for name in inputs):
        found = [arguments.index(name) for name in inputs]
    else:
        found = _indexes_in(inputs) or list(range(len(inputs)))
    takers = {}
    for name, argument in zip(inputs, found):
        if argument >= len(arguments):
            raise TritonModelException(
                "input '%s' is the argument %d of forward, which has %d" % (name, argument, len(arguments)), "INVALID_ARG"
            )
        if argument in takers:
            raise TritonModelException(
                "inputs '%s' and '%s' are the same argument of forward, '%s'"
                % (takers[argument], name, arguments[argument]),
                "INVALID_ARG",
            )
        takers[argument] = name
    return found


def values_of(outputs):
    """The value of each output: all names have an index, or their order counts."""
    return _indexes_in(outputs) or list(range(len(outputs)))

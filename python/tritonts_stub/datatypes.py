"""Datatypes: Triton's, numpy's and DLPack's names for them. numpy is imported when it is first needed."""

import sys

from .errors import TritonModelException, named_text_of

#: Names by their number in Triton's enum.
NAMES = (
    "INVALID", "BOOL", "UINT8", "UINT16", "UINT32", "UINT64", "INT8", "INT16", "INT32", "INT64",
    "FP16", "FP32", "FP64", "BYTES", "BF16",
)  # fmt: skip
NUMBERS = {name: number for number, name in enumerate(NAMES)}
SIZES = (0, 1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 0, 2)
BYTES, BF16 = NUMBERS["BYTES"], NUMBERS["BF16"]

_numpy_names = (
    None, "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
    "float16", "float32", "float64", "object", None,
)  # fmt: skip

#: Code and bits of DLPack by number; strings have none.
DLPACK = {
    1: (6, 8), 2: (1, 8), 3: (1, 16), 4: (1, 32), 5: (1, 64), 6: (0, 8), 7: (0, 16), 8: (0, 32),
    9: (0, 64), 10: (2, 16), 11: (2, 32), 12: (2, 64), 14: (4, 16),
}  # fmt: skip
FROM_DLPACK = {known: number for number, known in DLPACK.items()}


class _Numpy:
    """numpy, and tables of its types. Functions that need numpy raise if it is missing."""

    module = None
    by_number = None
    by_type = None


def numpy():
    """The numpy module."""
    if _Numpy.module is None:
        try:
            import numpy as module
        except ImportError as error:
            raise TritonModelException(_lack_of_numpy(error), "UNAVAILABLE") from error
        by_number = [None if name is None else module.dtype(name) for name in _numpy_names]
        by_type = {one: number for number, one in enumerate(by_number) if one is not None}
        _Numpy.by_number, _Numpy.by_type, _Numpy.module = by_number, by_type, module
    return _Numpy.module


def _lack_of_numpy(error):
    """Why numpy cannot be imported, and what helps."""
    python = sys.executable
    if isinstance(error, ModuleNotFoundError) and error.name == "numpy":
        return "arrays need numpy, which %s does not have: %s -m pip install numpy" % (python, python)
    return "arrays need numpy, which %s cannot import: %s; install it again with '%s -m pip install --force-reinstall numpy'" % (
        python, " ".join(named_text_of(error).split()), python,
    )  # fmt: skip


def numpy_type(number):
    """numpy's type of a datatype; None if it has none."""
    numpy()
    return _Numpy.by_number[number]


def number_of(dtype):
    """The datatype of a numpy type; None if there is none."""
    numpy()
    number = _Numpy.by_type.get(dtype)
    if number is None and dtype.kind in "SU":
        return BYTES
    if number is None:
        number = _Numpy.by_type.get(dtype.newbyteorder("="))
    return number


def number_of_config(name):
    """The datatype of a name in a configuration, such as TYPE_FP32; None if it is not known."""
    short = name[5:] if name.startswith("TYPE_") else name
    return NUMBERS.get("BYTES" if short == "STRING" else short)

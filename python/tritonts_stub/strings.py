"""Tensors of strings: each element is preceded by its length in 4 bytes."""

import struct

from .datatypes import numpy
from .errors import TritonModelException

_length = struct.Struct("<I")


def encode(elements):
    """Encodes a list of strings or bytes."""
    parts = []
    for element in elements:
        if isinstance(element, str):
            element = element.encode()
        elif not isinstance(element, (bytes, bytearray, memoryview)):
            element = str(element).encode()
        parts.append(_length.pack(len(element)))
        parts.append(bytes(element))
    return b"".join(parts)


def _cut_off(element, expected, found):
    return TritonModelException(
        "element %d of a string tensor is cut off: expected %d more bytes but found %d" % (element, expected, found),
        "INVALID_ARG",
    )


def decode(data):
    """Decodes a tensor to a list of bytes."""
    data, at, found = bytes(data), 0, []
    while at < len(data):
        if at + 4 > len(data):
            raise _cut_off(len(found), 4, len(data) - at)
        (length,) = _length.unpack_from(data, at)
        at += 4
        if length > len(data) - at:
            raise _cut_off(len(found), length, len(data) - at)
        found.append(data[at : at + length])
        at += length
    return found


def to_array(data, shape):
    """Decodes a tensor to a numpy array of bytes objects."""
    np = numpy()
    array = np.empty(shape, dtype=object)
    flat = decode(data)
    if len(flat) != array.size:
        raise TritonModelException(
            "expected %d strings for shape %s but found %d" % (array.size, list(shape), len(flat)), "INVALID_ARG"
        )
    array.ravel()[:] = flat
    if array.ndim == 0:
        array[()] = flat[0]
    return array


def from_array(array):
    """Encodes a numpy array of objects or strings, of any memory order."""
    return encode(array.ravel(order="C").tolist() if array.dtype.kind in "SU" else array.ravel(order="C"))

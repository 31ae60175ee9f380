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


def decode(data):
    """Decodes a tensor to a list of bytes."""
    data, at, found = bytes(data), 0, []
    while at < len(data):
        if at + 4 > len(data):
            raise TritonModelException("a string of a tensor is cut off", "INVALID_ARG")
        (length,) = _length.unpack_from(data, at)
        at += 4
        if length > len(data) - at:
            raise TritonModelException("a string of a tensor is cut off", "INVALID_ARG")
        found.append(data[at : at + length])
        at += length
    return found


def to_array(data, shape):
    """Decodes a tensor to a numpy array of bytes objects."""
    np = numpy()
    array = np.empty(shape, dtype=object)
    flat = decode(data)
    if len(flat) != array.size:
        raise TritonModelException("%d strings do not fit the shape %s" % (len(flat), list(shape)), "INVALID_ARG")
    array.ravel()[:] = flat
    if array.ndim == 0:
        array[()] = flat[0]
    return array


def from_array(array):
    """Encodes a numpy array of objects or strings, of any memory order."""
    return encode(array.ravel(order="C").tolist() if array.dtype.kind in "SU" else array.ravel(order="C"))

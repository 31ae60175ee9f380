"""Tensors: of a batch, made by the model, or from responses of other models."""

import ctypes

from . import dlpack, strings
from .datatypes import BF16, BYTES, NAMES, number_of, numpy, numpy_type
from .errors import TritonModelException


class Span:
    """An input of all requests of a group, contiguous in shared memory."""

    __slots__ = ("memory", "number", "shape", "size", "place", "count", "_arrays", "owner", "batch")

    def __init__(self, memory, number, shape, size, place, count, owner=None, batch=None):
        self.memory, self.number, self.shape = memory, number, shape
        self.size, self.place, self.count = size, place, count
        # The owner of the memory: the answer to a call, or the batch.
        self.owner, self.batch = owner, batch
        self._arrays = None

    def array(self, k):
        """The array of request `k`: a view of the shared memory."""
        arrays = self._arrays
        if arrays is None:
            arrays = self._arrays = self._view()
        # Of one dimension, the element would be a number, and a copy.
        return arrays[k] if self.shape else arrays[k, ...]

    def _view(self):
        np, dtype = numpy(), numpy_type(self.number)
        shape = (self.count,) + self.shape
        if self.owner is not None:
            return np.asarray(Held(self.memory.base + self.place, dtype.str, shape, self.owner))
        return np.ndarray(shape, dtype, self.memory.bytes, self.place)

    def data(self, k):
        begin = self.place + k * self.size
        return self.memory.bytes[begin : begin + self.size]


class Held:
    """Memory whose owner an array keeps alive."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, address, typestr, shape, owner):
        self.__array_interface__ = {"version": 3, "data": (address, False), "typestr": typestr, "shape": shape}
        self.owner = owner


class Tensor:
    """A named tensor (Triton: `pb_utils.Tensor`)."""

    __slots__ = ("_name", "_number", "_shape", "_array", "_span", "_at", "_foreign")

    def __init__(self, name, array):
        np = numpy()
        if not isinstance(array, np.ndarray):
            if not isinstance(array, np.generic):
                raise TritonModelException(
                    "tensor '%s': expected a numpy array but got %s" % (name, type(array).__name__)
                )
            array = np.asarray(array)
        number = number_of(array.dtype)
        if number is None:
            raise TritonModelException("tensor '%s': arrays of %s have no datatype" % (name, array.dtype))
        self._name, self._number, self._shape = name, number, array.shape
        self._array, self._span, self._at, self._foreign = array, None, 0, None

    @staticmethod
    def _received(name, span, at):
        self = object.__new__(Tensor)
        self._name, self._number, self._shape = name, span.number, span.shape
        self._array, self._span, self._at, self._foreign = None, span, at, None
        return self

    def name(self):
        return self._name

    def triton_dtype(self):
        return _config_name(self._number)

    def shape(self):
        return list(self._shape)

    def is_cpu(self):
        return True

    def as_numpy(self):
        """The tensor as an array. For an input it is a view of shared memory, valid during `execute`."""
        array = self._array
        if array is None:
            array = self._array = self._as_numpy()
        return array

    def _as_numpy(self):
        if self._number == BF16:
            raise TritonModelException("tensor '%s': numpy has no BF16; use to_dlpack()" % self._name)
        if self._foreign is not None:
            np, dtype = numpy(), numpy_type(self._number)
            return np.asarray(Held(self._foreign[0], dtype.str, self._shape, self))
        if self._number == BYTES:
            return strings.to_array(self._span.data(self._at), self._shape)
        return self._span.array(self._at)

    @staticmethod
    def from_dlpack(name, tensor):
        """A tensor from a DLPack capsule, or from an object with `__dlpack__`, without a copy."""
        address, number, shape, owner = dlpack.read(tensor)
        self = object.__new__(Tensor)
        self._name, self._number, self._shape = name, number, shape
        self._array, self._span, self._at, self._foreign = None, None, 0, (address, owner)
        return self

    def to_dlpack(self):
        """A DLPack capsule, in C order."""
        if self._number == BYTES:
            raise TritonModelException("tensor '%s': DLPack has no strings" % self._name)
        if self._foreign is not None:
            return dlpack.make(self._foreign[0], self._number, self._shape, self)
        if self._span is not None:
            span = self._span
            address = span.memory.base + span.place + self._at * span.size
            return dlpack.make(address, self._number, self._shape, (self, span.owner))
        array = self._array
        if not array.flags.c_contiguous:
            array = numpy().ascontiguousarray(array)
        return dlpack.make(array.ctypes.data, self._number, self._shape, array)

    def __dlpack__(self, *, stream=None, **_others):
        if stream is not None:
            raise TritonModelException("tensors are in the memory of the CPU, which has no streams", "UNSUPPORTED")
        return self.to_dlpack()

    def __dlpack_device__(self):
        return (dlpack.CPU, 0)

    # --- For the writer of responses and calls.

    def _place(self, memory):
        """The tensor's place in shared memory; None if it is elsewhere."""
        span = self._span
        if span is None or span.memory is not memory:
            return None
        # The memory of a batch that has ended is reused.
        if span.owner is None and (span.batch is None or span.batch.open == 0):
            return None
        return span.place + self._at * span.size

    def _data(self):
        """The tensor's data to write: a contiguous array, or bytes."""
        if self._number == BYTES:
            return strings.from_array(self._array) if self._span is None else self._span.data(self._at)
        if self._span is not None:
            return self._span.data(self._at)
        if self._foreign is not None:
            size = dlpack.bytes_of(self._number, self._shape)
            return memoryview((ctypes.c_char * size).from_address(self._foreign[0])).cast("B") if size else b""
        return self._array

    def _size(self):
        if self._span is not None:
            return self._span.size
        return dlpack.bytes_of(self._number, self._shape)


def write(memory, place, size, data):
    """Writes the data from `Tensor._data`."""
    if size == 0:
        return
    if isinstance(data, (bytes, memoryview)):
        memory.bytes[place : place + size] = data
        return
    np = numpy()
    dtype = data.dtype.newbyteorder("=") if not data.dtype.isnative else data.dtype
    target = np.frombuffer(memory.bytes, dtype, data.size, place)
    target.reshape(data.shape)[...] = data


def _config_name(number):
    return "TYPE_STRING" if number == BYTES else "TYPE_" + NAMES[number]

"""DLPack without numpy: capsules of tensors, made and read with ctypes."""

import ctypes

from .datatypes import DLPACK, FROM_DLPACK, SIZES
from .errors import TritonModelException

CPU, PINNED = 1, 3


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    pass


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Managed._fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _Deleter)]

_api = ctypes.pythonapi
_api.PyCapsule_New.restype = ctypes.py_object
_api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
# A destructor gets its capsule during destruction, so it is passed as a plain address without a reference count.
_is_valid_at = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_IsValid", _api))
_pointer_at = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(("PyCapsule_GetPointer", _api))
_NAME = b"dltensor"

# The objects that exported capsules keep alive, by the address of their tensor.
_given = {}


@_Deleter
def _delete(address):
    _given.pop(address, None)


@ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
def _destroy(capsule):
    # A consumer that took the tensor has renamed the capsule, and calls the tensor's deleter.
    if _is_valid_at(capsule, _NAME):
        _given.pop(_pointer_at(capsule, _NAME), None)


def make(address, number, shape, owner):
    """A capsule of a tensor in C order, which keeps `owner` alive."""
    code, bits = DLPACK[number]
    managed = _Managed()
    tensor = managed.tensor
    dims = (ctypes.c_int64 * len(shape))(*shape)
    tensor.data, tensor.device_type, tensor.device_id = address, CPU, 0
    tensor.ndim, tensor.code, tensor.bits, tensor.lanes = len(shape), code, bits, 1
    tensor.shape = ctypes.cast(dims, ctypes.POINTER(ctypes.c_int64))
    managed.deleter = _delete
    _given[ctypes.addressof(managed)] = (managed, dims, owner)
    return _api.PyCapsule_New(ctypes.addressof(managed), _NAME, ctypes.cast(_destroy, ctypes.c_void_p))


def read(given):
    """The address, datatype and shape of a DLPack tensor, and the owner that keeps it alive."""
    if hasattr(given, "__dlpack__"):
        device = given.__dlpack_device__() if hasattr(given, "__dlpack_device__") else (CPU, 0)
        if int(device[0]) not in (CPU, PINNED):
            raise TritonModelException(
                "expected a DLPack tensor in CPU memory but got device type %d" % int(device[0]), "UNSUPPORTED"
            )
        capsule = given.__dlpack__()
    else:
        capsule = given
    if not _is_valid(capsule, _NAME):
        raise TritonModelException(
            "expected an unused DLPack capsule or an object with __dlpack__ but got %s" % type(given).__name__
        )
    tensor = ctypes.cast(_pointer(capsule, _NAME), ctypes.POINTER(_Managed)).contents.tensor
    if tensor.device_type not in (CPU, PINNED):
        raise TritonModelException(
            "expected a DLPack tensor in CPU memory but got device type %d" % tensor.device_type, "UNSUPPORTED"
        )
    number = FROM_DLPACK.get((tensor.code, tensor.bits))
    if number is None or tensor.lanes != 1:
        raise TritonModelException(
            "Triton has no datatype for a DLPack tensor of type code %d with %d bits" % (tensor.code, tensor.bits)
        )
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    if tensor.strides:
        expected = 1
        for dim, stride in zip(reversed(shape), [tensor.strides[i] for i in reversed(range(tensor.ndim))]):
            if dim > 1 and stride != expected and 0 not in shape:
                raise TritonModelException(
                    "expected a DLPack tensor in C order but got strides %s" % tensor.strides[: tensor.ndim]
                )
            expected *= dim
    # The capsule still owns the tensor, so the tensor lives as long as the capsule.
    return (tensor.data or 0) + tensor.byte_offset, number, shape, (capsule, given)


def bytes_of(number, shape):
    size = SIZES[number]
    for dim in shape:
        size *= dim
    return size

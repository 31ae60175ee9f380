"""A stand-in for torch in tests without it: what the backend uses, on numpy. A model is the rest of a lambda, `x: x + x`."""

import contextlib
import time
from types import SimpleNamespace

import numpy as np

from .version import __version__  # noqa: F401

bool, uint8, int8, int16, int32, int64 = (np.dtype(one) for one in ("?", "u1", "i1", "i2", "i4", "i8"))
float16, float32, float64, bfloat16 = np.dtype("f2"), np.dtype("f4"), np.dtype("f8"), "bfloat16"
strided = "strided"


class Tensor:
    layout, is_quantized = strided, False

    def __init__(self, array):
        self.array = np.asarray(array)

    dtype = property(lambda self: self.array.dtype)
    shape = property(lambda self: self.array.shape)

    def _same(self):
        return self

    detach = cpu = resolve_conj = resolve_neg = contiguous = _same

    def numpy(self):
        return self.array

    def __getitem__(self, key):
        return Tensor(self.array[key])

    def __add__(self, other):
        return Tensor(self.array + getattr(other, "array", other))

    def reshape(self, *shape):
        return Tensor(self.array.reshape(*shape))

    def __truediv__(self, other):
        if other == 0:
            raise RuntimeError("ZeroDivisionError")
        return Tensor(self.array / other)


def from_numpy(array):
    if type(array) is not np.ndarray:
        raise TypeError("expected np.ndarray (got %s)" % type(array).__name__)
    return Tensor(array)


def _pause(x, seconds):
    time.sleep(seconds)
    return x


def _load(file, map_location):
    with open(file) as opened:
        text = opened.read()
    forward = eval("lambda " + text, {"pause": _pause})
    module = SimpleNamespace(forward=lambda *arguments: forward(*arguments))
    names = text.split(":")[0].split(",")
    module.forward.schema = SimpleNamespace(
        arguments=[
            SimpleNamespace(name=name.strip(), type=SimpleNamespace(kind=lambda: "TensorType", annotation_str="Tensor"))
            for name in names
        ]
    )
    return module


def _ignore(*_arguments):
    pass


jit = SimpleNamespace(load=_load)
inference_mode = contextlib.nullcontext
set_grad_enabled = set_num_threads = set_num_interop_threads = _ignore
_C = SimpleNamespace(
    _jit_set_profiling_executor=_ignore, _jit_set_profiling_mode=_ignore, _jit_set_texpr_fuser_enabled=_ignore
)

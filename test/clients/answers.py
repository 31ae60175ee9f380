"""Helpers for the checks of Triton's Python clients."""

import inspect

import ml_dtypes
import numpy as np
from tritonclient.utils import InferenceServerException

DATATYPES = {
    "BOOL": np.array([True, False, True]),
    "INT8": np.array([-128, 0, 127], np.int8),
    "INT16": np.array([-32768, 0, 32767], np.int16),
    "INT32": np.array([-(2**31), 0, 2**31 - 1], np.int32),
    "INT64": np.array([-(2**63), 2**53 + 1, 2**63 - 1], np.int64),
    "UINT8": np.array([0, 1, 255], np.uint8),
    "UINT16": np.array([0, 1, 65535], np.uint16),
    "UINT32": np.array([0, 1, 2**32 - 1], np.uint32),
    "UINT64": np.array([0, 2**53 + 1, 2**64 - 1], np.uint64),
    "FP16": np.array([0.5, -1, 65504], np.float16),
    "FP32": np.array([0.1, -1, 3e38], np.float32),
    "FP64": np.array([0.1, -1, 1e308], np.float64),
    "BYTES": np.array(["a", "h\u00e9", ""], dtype=object),
    "BF16": np.array([0.5, -1, 2], ml_dtypes.bfloat16),
}

# The number of right answers.
right = 0


# Arguments of requests of sequences, with the id, START and END that the model is to see.
SEQUENCES = (
    (dict(sequence_id=5, sequence_start=True), ["5n", True, False]),
    (dict(sequence_id=5), ["5n", False, False]),
    (dict(sequence_id=5, sequence_end=True), ["5n", False, True]),
    (dict(sequence_id=2**63 - 1, sequence_start=True, sequence_end=True), ["9223372036854775807n", True, True]),
    (dict(sequence_id="a call", sequence_start=True), ["a call", True, False]),
    (dict(sequence_id="é" * 64, sequence_end=True), ["é" * 64, False, True]),
    (dict(sequence_id="5"), ["5", False, False]),
    (dict(sequence_id=0), None),
    (dict(sequence_id=""), None),
    ({}, None),
)


def equal(got, expected, what):
    global right
    right += 1
    same = np.array_equal(got, expected) if isinstance(expected, np.ndarray) else got == expected
    if not same:
        raise AssertionError(f"{what}: expected {expected!r} but got {got!r}")


def texts(array):
    return [one.decode() if isinstance(one, bytes) else one for one in array.reshape(-1)]


async def refused(call, status, what):
    global right
    right += 1
    try:
        await call
    except InferenceServerException as error:
        if str(error.status()) != str(status) or not error.message():
            raise AssertionError(f"{what}: expected {status} but got {error}") from error
        return error.message()
    raise AssertionError(f"{what}: expected an error")


def check_complete(kind, client, source, others):
    """Checks that `source` calls every method of the client, except `others`."""
    public = {name for name, _ in inspect.getmembers(client, callable) if not name.startswith("_")}
    used = {name for name in public if f".{name}(" in source or name in others}
    equal(sorted(public - used), [], f"{kind}: methods that are not called")

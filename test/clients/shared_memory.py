"""System shared memory by tritonclient: regions over HTTP and gRPC, numbers, 602 KB, texts, and what is refused.

Usage: shared_memory.py <port of HTTP> <port of gRPC>
"""

import sys

import numpy as np
import tritonclient.grpc as over_grpc
import tritonclient.http as over_http
import tritonclient.utils.shared_memory as shm
from tritonclient.utils import InferenceServerException, serialize_byte_tensor

right = 0


def equal(one, other, what):
    global right
    np.testing.assert_array_equal(one, other, what)
    right += 1


def through(client, triton, model, datatype, values, key):
    """Sends values through a model and regions, and returns what is in the region of the output."""
    data = serialize_byte_tensor(values) if datatype == "BYTES" else values
    size = len(data.item()) if datatype == "BYTES" else data.nbytes
    inputs = shm.create_shared_memory_region(f"in {key}", f"/{key}-in", size)
    outputs = shm.create_shared_memory_region(f"out {key}", f"/{key}-out", size + 64)
    try:
        shm.set_shared_memory_region(inputs, [data])
        client.register_system_shared_memory(f"in {key}", f"/{key}-in", size)
        client.register_system_shared_memory(f"out {key}", f"/{key}-out", size + 64)
        x = triton.InferInput("x", list(values.shape), datatype)
        x.set_shared_memory(f"in {key}", size)
        y = triton.InferRequestedOutput("y")
        y.set_shared_memory(f"out {key}", size)
        result = client.infer(model, [x], outputs=[y])
        output = result.get_output("y")
        shape = output["shape"] if isinstance(output, dict) else output.shape
        equal(list(shape), list(values.shape), f"the shape of {key}")
        # A copy: the memory is about to go.
        return np.array(shm.get_contents_as_numpy(outputs, values.dtype, list(values.shape)))
    finally:
        client.unregister_system_shared_memory(f"in {key}")
        client.unregister_system_shared_memory(f"out {key}")
        shm.destroy_shared_memory_region(inputs)
        shm.destroy_shared_memory_region(outputs)


def refused(call, part):
    global right
    try:
        call()
    except InferenceServerException as error:
        assert part in error.message(), error.message()
        right += 1
        return
    raise AssertionError(f"was not refused: {part}")


def names(client):
    status = client.get_system_shared_memory_status()
    if isinstance(status, list):
        return sorted(one["name"] for one in status)
    return sorted(status.regions)


for protocol, triton, port in (("http", over_http, sys.argv[1]), ("grpc", over_grpc, sys.argv[2])):
    with triton.InferenceServerClient(f"127.0.0.1:{port}") as client:
        small = np.arange(32, dtype=np.float32).reshape(2, 16)
        equal(through(client, triton, "add", "FP32", small, f"small-{protocol}"), small + 1, "add")
        large = np.random.default_rng(1).random((1, 3 * 224 * 224), dtype=np.float32).reshape(-1)
        got = through(client, triton, "echo_fp32", "FP32", large, f"large-{protocol}")
        equal(got, large, "602 KB")
        integers = np.arange(-5, 5, dtype=np.int64)
        got = through(client, triton, "echo_int64", "INT64", integers, f"integers-{protocol}")
        equal(got, integers, "integers")
        texts = np.array(["a", "", "é" * 100, "\0"], dtype=object)
        wanted = np.array([one.encode() for one in texts], dtype=object)
        got = through(client, triton, "echo_bytes", "BYTES", texts, f"texts-{protocol}")
        equal(got, wanted, "texts")
        equal(names(client), [], "regions that are left")

        region = shm.create_shared_memory_region("r", f"/refused-{protocol}", 64)
        client.register_system_shared_memory("r", f"/refused-{protocol}", 64)
        equal(names(client), ["r"], "a region")
        again = lambda: client.register_system_shared_memory("r", f"/refused-{protocol}", 64)
        refused(again, "already in manager")
        none = lambda: client.register_system_shared_memory("n", "/none-of-these", 64)
        refused(none, "Unable to open")
        x = triton.InferInput("x", [1, 16], "FP32")
        x.set_shared_memory("r", 64, offset=64)
        refused(lambda: client.infer("add", [x]), "Invalid offset")
        x.set_shared_memory("unknown", 64)
        refused(lambda: client.infer("add", [x]), "Unable to find shared memory region")
        client.unregister_system_shared_memory()
        equal(names(client), [], "regions after all are unregistered")
        shm.destroy_shared_memory_region(region)
        cuda = client.get_cuda_shared_memory_status()
        assert not (cuda if isinstance(cuda, list) else cuda.regions)
print(f"shared memory: {right} answers are right")

"""Calls all supported functions of tritonclient.http and its aio form. Ends with code 1 if an answer is wrong.

Usage: triton_http.py <port> <file of a model with y = x + 1, FP32 [N, 16]>
"""

import asyncio
import inspect
import json
import sys

import answers
import numpy as np
import tritonclient.http as triton
import tritonclient.http.aio as aio
from answers import DATATYPES, SEQUENCES, check_complete, equal, refused, texts
from tritonclient.http import InferInput, InferRequestedOutput
from tritonclient.utils import np_to_triton_dtype

URL = f"127.0.0.1:{sys.argv[1]}"
MODEL = sys.argv[2]

# Calls that the server refuses, with their arguments.
REFUSED = {
    "update_log_settings": dict(settings={"log_info": True}),
    "get_log_settings": {},
    "register_system_shared_memory": dict(name="r", key="/r", byte_size=8),
    "unregister_system_shared_memory": {},
    "register_cuda_shared_memory": dict(name="r", raw_handle=b"x", device_id=0, byte_size=8),
    "unregister_cuda_shared_memory": {},
}
# Methods that do not call a server.
LOCAL = {"close", "plugin", "register_plugin", "unregister_plugin"}


def as_input(name, values, datatype=None, binary=True):
    tensor = InferInput(name, list(values.shape), datatype or np_to_triton_dtype(values.dtype))
    return tensor.set_data_from_numpy(values, binary_data=binary)


class Blocking:
    """The blocking client, with the interface of the aio client."""

    def __init__(self, **options):
        self.client = triton.InferenceServerClient(URL, concurrency=4, **options)

    def __getattr__(self, name):
        async def call(*args, **kwargs):
            return getattr(self.client, name)(*args, **kwargs)

        return call


class Later:
    """`infer` by means of async_infer."""

    def __init__(self):
        self.client = triton.InferenceServerClient(URL, concurrency=4)

    async def infer(self, *args, **kwargs):
        return self.client.async_infer(*args, **kwargs).get_result()

    async def close(self):
        self.client.close()


async def requests(client, name):
    for datatype, values in DATATYPES.items():
        model = f"echo_{datatype.lower()}"
        for binary_in in (True, False):
            for binary_out in (True, False):
                if datatype in ("FP16", "BF16") and not (binary_in and binary_out):
                    continue
                what = f"{name} {datatype}, binary {binary_in}, {binary_out}"
                result = await client.infer(
                    model,
                    [as_input("x", values, datatype, binary_in)],
                    outputs=[InferRequestedOutput("y", binary_data=binary_out)],
                    request_id="7",
                )
                answer = result.as_numpy("y")
                if datatype == "BYTES":
                    equal(texts(answer), texts(values), what)
                else:
                    equal(answer, values, what)
                response = result.get_response()
                equal((response["id"], response["model_name"]), ("7", model), what)
                equal(result.get_output("y")["datatype"], datatype, what)

    x = np.arange(32, dtype=np.float32).reshape(2, 16)
    plain = dict(inputs=[as_input("x", x)])
    equal((await client.infer("add", **plain)).as_numpy("y"), x + 1, f"{name}: all outputs")
    equal((await client.infer("add", **plain, model_version="1")).as_numpy("y"), x + 1, f"{name}: a version")
    for zipped in ("gzip", "deflate"):
        result = await client.infer(
            "add",
            **plain,
            request_compression_algorithm=zipped,
            response_compression_algorithm=zipped,
        )
        equal(result.as_numpy("y"), x + 1, f"{name}: {zipped}")
    wanted = [InferRequestedOutput("y", class_count=2)]
    result = await client.infer("add", **plain, outputs=wanted)
    best = ["16.000000:15", "15.000000:14", "32.000000:15", "31.000000:14"]
    equal(texts(result.as_numpy("y")), best, f"{name}: classes")
    result = await client.infer(
        "add", **plain, priority=1, timeout=1_000_000, parameters={"a": 1, "b": "c", "d": True}
    )
    equal(result.as_numpy("y"), x + 1, f"{name}: parameters")
    equal(
        (await client.infer("add", **plain, headers={"forwarded-key": "v"}, query_params={"a": "b"})).as_numpy("y"),
        x + 1,
        f"{name}: headers and query",
    )
    large = np.arange(16 * 4096, dtype=np.float32).reshape(4096, 16)
    equal((await client.infer("add", [as_input("x", large)])).as_numpy("y"), large + 1, f"{name}: large")

    await refused(client.infer("nobody", **plain), 404, f"{name}: an unknown model")
    await refused(client.infer("add", **plain, model_version="9"), 404, f"{name}: an unknown version")
    await refused(client.infer("add", [as_input("x", x.astype(np.float64))]), 400, f"{name}: a wrong type")
    await refused(client.infer("add", [as_input("x", x[:, :8])]), 400, f"{name}: a wrong shape")
    await refused(client.infer("add", [as_input("z", x)]), 400, f"{name}: a wrong name")
    await refused(
        client.infer("add", **plain, outputs=[InferRequestedOutput("z")]), 400, f"{name}: a wrong output"
    )
    for i, (arguments, expected) in enumerate(SEQUENCES):
        result = await client.infer("sequence", [as_input("x", np.full((1, 1), i, np.float32))], **arguments)
        told = json.loads(texts(result.as_numpy("y"))[0])
        equal(told, [i, expected], f"{name}: a sequence, {arguments}")
    one = [as_input("x", np.zeros((1, 1), np.float32))]
    await refused(client.infer("sequence", one, sequence_id="x" * 129), 501, f"{name}: a long id")
    region = InferInput("x", [2, 16], "FP32")
    region.set_shared_memory("r", 128)
    await refused(client.infer("add", [region]), 404, f"{name}: shared memory")


async def control(client, name):
    equal(await client.is_server_live(), True, f"{name}: live")
    equal(await client.is_server_ready(), True, f"{name}: ready")
    equal(await client.is_model_ready("add"), True, f"{name}: a model is ready")
    equal(await client.is_model_ready("add", "1"), True, f"{name}: a version is ready")
    equal(await client.is_model_ready("nobody"), False, f"{name}: an unknown model is not ready")
    metadata = await client.get_server_metadata()
    equal(metadata["name"], "tritonts", f"{name}: server metadata")
    equal("binary_tensor_data" in metadata["extensions"], True, f"{name}: extensions")
    tensors = (await client.get_model_metadata("add", "1"))["inputs"]
    equal(tensors, [{"name": "x", "datatype": "FP32", "shape": [-1, 16]}], f"{name}: model metadata")
    equal((await client.get_model_config("add"))["max_batch_size"], 8192, f"{name}: model config")
    statistics = await client.get_inference_statistics("add")
    equal(statistics["model_stats"][0]["name"], "add", f"{name}: statistics")
    equal(len((await client.get_inference_statistics())["model_stats"]) > 5, True, f"{name}: all statistics")
    index = await client.get_model_repository_index()
    equal({"name": "add", "version": "1", "state": "READY"} in index, True, f"{name}: index")

    await client.unload_model("spare")
    equal(await client.is_model_ready("spare"), False, f"{name}: unloaded")
    await client.unload_model("spare", unload_dependents=True)
    await client.load_model("spare")
    equal(await client.is_model_ready("spare"), True, f"{name}: loaded")
    config = {"backend": "onnxruntime", "max_batch_size": 3}
    await client.load_model("spare", config=json.dumps(config))
    equal((await client.get_model_config("spare"))["max_batch_size"], 3, f"{name}: another config")
    with open(MODEL, "rb") as file:
        content = file.read()
    await client.load_model("spare", config=json.dumps({**config, "max_batch_size": 5}), files={"file:1/model.onnx": content})
    equal((await client.get_model_config("spare"))["max_batch_size"], 5, f"{name}: files")
    await refused(client.load_model("nobody"), 404, f"{name}: load of an unknown model")
    await refused(client.load_model("spare", config="{"), 400, f"{name}: load with a broken config")
    equal(await client.is_model_ready("spare"), True, f"{name}: goes on after a failed load")
    await client.load_model("spare")

    equal(await client.get_system_shared_memory_status(), [], f"{name}: shared memory")
    equal(await client.get_cuda_shared_memory_status(), [], f"{name}: CUDA shared memory")
    settings = await client.get_trace_settings()
    equal(settings["trace_level"], ["OFF"], f"{name}: trace settings")
    settings = await client.update_trace_settings("add", {"trace_rate": "7", "trace_count": None})
    equal((settings["trace_rate"], settings["trace_count"]), ("7", "-1"), f"{name}: changed trace settings")
    equal((await client.get_trace_settings("spare"))["trace_rate"], "1000", f"{name}: of another model")
    settings = await client.update_trace_settings("add", {"trace_rate": None})
    equal(settings["trace_rate"], "1000", f"{name}: cleared trace settings")
    await refused(client.update_trace_settings(settings={"trace_rate": "x"}), 400, f"{name}: a wrong trace setting")
    for method, arguments in REFUSED.items():
        await refused(getattr(client, method)(**arguments), 501, f"{name}: {method}")


async def bodies():
    """A request body made by hand, and an answer parsed by hand."""
    x = np.ones((1, 16), np.float32)
    body, size = triton.InferenceServerClient.generate_request_body(
        [as_input("x", x)], outputs=[InferRequestedOutput("y")]
    )
    from urllib3 import PoolManager

    headers = {} if size is None else {"Inference-Header-Content-Length": str(size)}
    answer = PoolManager().request("POST", f"http://{URL}/v2/models/add/infer", body=body, headers=headers)
    size = answer.headers.get("Inference-Header-Content-Length")
    parsed = triton.InferenceServerClient.parse_response_body(
        answer.data, header_length=None if size is None else int(size)
    )
    equal(parsed.as_numpy("y"), x + 1, "a body of one's own")


async def many():
    """Concurrent requests, and a client that leaves before its answer."""
    x = np.zeros((1, 16), np.float32)
    async with aio.InferenceServerClient(URL, conn_limit=64) as client:
        results = await asyncio.gather(
            *[client.infer("add", [as_input("x", x + i)]) for i in range(512)]
        )
        for i, result in enumerate(results):
            equal(result.as_numpy("y"), x + i + 1, f"request {i} of many")
        try:
            await asyncio.wait_for(client.infer("slow", [as_input("x", x)]), 0.2)
            raise AssertionError("the slow model has answered")
        except asyncio.TimeoutError:
            pass
    client = triton.InferenceServerClient(URL, concurrency=8)
    pending = [client.async_infer("add", [as_input("x", x + i)]) for i in range(200)]
    for i, one in enumerate(pending):
        equal(one.get_result().as_numpy("y"), x + i + 1, f"async_infer {i}")
    client.close()


async def main():
    source = inspect.getsource(sys.modules[__name__])
    check_complete("http", triton.InferenceServerClient, source, {*REFUSED, *LOCAL})
    check_complete("aio", aio.InferenceServerClient, source, {*REFUSED, *LOCAL})
    blocking = Blocking()
    await control(blocking, "http")
    await requests(blocking, "http")
    await blocking.close()
    later = Later()
    await requests(later, "async_infer")
    await later.close()
    async with aio.InferenceServerClient(URL) as client:
        await control(client, "aio")
        await requests(client, "aio")
    await bodies()
    await many()
    print(f"HTTP: {answers.right} answers are right")


asyncio.run(main())

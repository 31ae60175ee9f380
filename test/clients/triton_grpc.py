"""Calls all supported functions of tritonclient.grpc and its aio form. Ends with code 1 if an answer is wrong.

Usage: triton_grpc.py <port> <file of a model with y = x + 1, FP32 [N, 16]>
"""

import asyncio
import inspect
import json
import queue
import sys

import answers
import grpc
import numpy as np
import tritonclient.grpc as triton
import tritonclient.grpc.aio as aio
from answers import DATATYPES, SEQUENCES, check_complete, equal, refused, texts
from tritonclient.grpc import InferInput, InferRequestedOutput
from tritonclient.utils import InferenceServerException, np_to_triton_dtype

URL = f"127.0.0.1:{sys.argv[1]}"
MODEL = sys.argv[2]

# Calls that the server refuses, with their arguments.
REFUSED = {
    "update_log_settings": dict(settings={"log_info": True}),
    "get_log_settings": {},
    "register_system_shared_memory": dict(name="r", key="/r", byte_size=8),
    "unregister_system_shared_memory": {},
    "register_cuda_shared_memory": dict(name="r", raw_handle=b"eA==", device_id=0, byte_size=8),
    "unregister_cuda_shared_memory": {},
}
# Methods that do not call a server.
LOCAL = {"close", "plugin", "register_plugin", "unregister_plugin"}

NOT_FOUND = grpc.StatusCode.NOT_FOUND
INVALID = grpc.StatusCode.INVALID_ARGUMENT
UNSUPPORTED = grpc.StatusCode.UNIMPLEMENTED
LATE = grpc.StatusCode.DEADLINE_EXCEEDED
CANCELLED = grpc.StatusCode.CANCELLED


def as_input(name, values, datatype=None):
    tensor = InferInput(name, list(values.shape), datatype or np_to_triton_dtype(values.dtype))
    return tensor.set_data_from_numpy(values)


class Answers:
    """A callback that records its arguments."""

    def __init__(self):
        self.queue = queue.Queue()

    def __call__(self, result, error):
        self.queue.put((result, error))

    def get(self):
        result, error = self.queue.get(timeout=60)
        if error is not None:
            raise error
        return result


class Blocking:
    """The blocking client, with the interface of the aio client."""

    def __init__(self):
        self.client = triton.InferenceServerClient(URL)

    def __getattr__(self, name):
        async def call(*args, **kwargs):
            return getattr(self.client, name)(*args, **kwargs)

        return call


class Later(Blocking):
    """`infer` by means of async_infer."""

    async def infer(self, model, inputs, **kwargs):
        told = Answers()
        self.client.async_infer(model, inputs, callback=told, **kwargs)
        return told.get()


class Streamed(Blocking):
    """`infer` by means of a stream."""

    async def infer(self, model, inputs, client_timeout=None, headers=None, compression_algorithm=None, **kwargs):
        told = Answers()
        # Makes errors of the stream carry their status.
        headers = {**(headers or {}), "triton_grpc_error": "true"}
        self.client.start_stream(
            told, stream_timeout=client_timeout, headers=headers, compression_algorithm=compression_algorithm
        )
        try:
            self.client.async_stream_infer(model, inputs, **kwargs)
            return told.get()
        finally:
            self.client.stop_stream()


class StreamedAio:
    """`infer` by means of a stream of the aio client."""

    def __init__(self):
        self.client = aio.InferenceServerClient(URL)

    async def infer(self, model, inputs, client_timeout=None, headers=None, compression_algorithm=None, **kwargs):
        async def one():
            yield {"model_name": model, "inputs": inputs, **kwargs}

        responses = self.client.stream_infer(
            one(),
            stream_timeout=client_timeout,
            headers={**(headers or {}), "triton_grpc_error": "true"},
            compression_algorithm=compression_algorithm,
        )
        try:
            async for result, error in responses:
                if error is not None:
                    raise error
                return result
        except grpc.aio.AioRpcError as error:
            # This client does not convert the error itself.
            raise InferenceServerException(msg=error.details(), status=str(error.code())) from error

    async def close(self):
        await self.client.close()


async def requests(client, name):
    for datatype, values in DATATYPES.items():
        model = f"echo_{datatype.lower()}"
        what = f"{name} {datatype}"
        result = await client.infer(
            model, [as_input("x", values, datatype)], outputs=[InferRequestedOutput("y")], request_id="7"
        )
        answer = result.as_numpy("y")
        if datatype == "BYTES":
            equal(texts(answer), texts(values), what)
        else:
            equal(answer, values, what)
        response = result.get_response(as_json=True)
        equal((response["id"], response["model_name"]), ("7", model), what)
        equal(result.get_output("y").datatype, datatype, what)

    x = np.arange(32, dtype=np.float32).reshape(2, 16)
    plain = dict(inputs=[as_input("x", x)])
    equal((await client.infer("add", **plain)).as_numpy("y"), x + 1, f"{name}: all outputs")
    equal((await client.infer("add", **plain, model_version="1")).as_numpy("y"), x + 1, f"{name}: a version")
    for zipped in ("gzip", "deflate"):
        result = await client.infer("add", **plain, compression_algorithm=zipped)
        equal(result.as_numpy("y"), x + 1, f"{name}: {zipped}")
    wanted = [InferRequestedOutput("y", class_count=2)]
    result = await client.infer("add", **plain, outputs=wanted)
    best = ["16.000000:15", "15.000000:14", "32.000000:15", "31.000000:14"]
    equal(texts(result.as_numpy("y")), best, f"{name}: classes")
    result = await client.infer(
        "add", **plain, priority=1, timeout=1_000_000, parameters={"a": 1, "b": "c", "d": True, "e": 0.5}
    )
    equal(result.as_numpy("y"), x + 1, f"{name}: parameters")
    result = await client.infer("add", **plain, headers={"forwarded-key": "v"})
    equal(result.as_numpy("y"), x + 1, f"{name}: headers")
    large = np.arange(16 * 8192, dtype=np.float32).reshape(8192, 16)
    equal((await client.infer("add", [as_input("x", large)])).as_numpy("y"), large + 1, f"{name}: large")

    await refused(client.infer("nobody", **plain), NOT_FOUND, f"{name}: an unknown model")
    await refused(client.infer("add", **plain, model_version="9"), NOT_FOUND, f"{name}: an unknown version")
    await refused(client.infer("add", **plain, model_version="x"), INVALID, f"{name}: no version")
    await refused(client.infer("add", [as_input("x", x.astype(np.float64))]), INVALID, f"{name}: a wrong type")
    await refused(client.infer("add", [as_input("x", x[:, :8])]), INVALID, f"{name}: a wrong shape")
    await refused(client.infer("add", [as_input("z", x)]), INVALID, f"{name}: a wrong name")
    await refused(
        client.infer("add", **plain, outputs=[InferRequestedOutput("z")]), INVALID, f"{name}: a wrong output"
    )
    for i, (arguments, expected) in enumerate(SEQUENCES):
        result = await client.infer("sequence", [as_input("x", np.full((1, 1), i, np.float32))], **arguments)
        told = json.loads(texts(result.as_numpy("y"))[0])
        equal(told, [i, expected], f"{name}: a sequence, {arguments}")
    one = [as_input("x", np.zeros((1, 1), np.float32))]
    await refused(client.infer("sequence", one, sequence_id="x" * 129), UNSUPPORTED, f"{name}: a long id")
    region = InferInput("x", [2, 16], "FP32")
    region.set_shared_memory("r", 128)
    await refused(client.infer("add", [region]), NOT_FOUND, f"{name}: shared memory")
    await refused(client.infer("slow", [as_input("x", x)], client_timeout=0.2), LATE, f"{name}: a deadline")


async def control(client, name):
    equal(await client.is_server_live(), True, f"{name}: live")
    equal(await client.is_server_ready(), True, f"{name}: ready")
    equal(await client.is_model_ready("add"), True, f"{name}: a model is ready")
    equal(await client.is_model_ready("add", "1"), True, f"{name}: a version is ready")
    await refused(client.is_model_ready("nobody"), NOT_FOUND, f"{name}: an unknown model")
    metadata = await client.get_server_metadata(as_json=True)
    equal(metadata["name"], "tritonts", f"{name}: server metadata")
    equal("binary_tensor_data" in metadata["extensions"], True, f"{name}: extensions")
    tensors = (await client.get_model_metadata("add", "1", as_json=True))["inputs"]
    equal(tensors, [{"name": "x", "datatype": "FP32", "shape": ["-1", "16"]}], f"{name}: model metadata")
    equal((await client.get_model_config("add")).config.max_batch_size, 8192, f"{name}: model config")
    statistics = (await client.get_inference_statistics("add")).model_stats
    equal([(one.name, one.version) for one in statistics], [("add", "1")], f"{name}: statistics")
    before = statistics[0]
    x = np.ones((3, 16), np.float32)
    await client.infer("add", [as_input("x", x)])
    after = (await client.get_inference_statistics("add")).model_stats[0]
    equal(after.inference_count - before.inference_count, 3, f"{name}: rows are counted")
    equal(after.execution_count - before.execution_count, 1, f"{name}: batches are counted")
    succeeded = after.inference_stats.success.count - before.inference_stats.success.count
    equal(succeeded, 1, f"{name}: requests are counted")
    equal(len((await client.get_inference_statistics()).model_stats) > 5, True, f"{name}: all statistics")
    index = (await client.get_model_repository_index(as_json=True))["models"]
    equal({"name": "add", "version": "1", "state": "READY"} in index, True, f"{name}: index")

    await client.unload_model("spare")
    equal(await client.is_model_ready("spare"), False, f"{name}: unloaded")
    await client.unload_model("spare", unload_dependents=True)
    await client.load_model("spare")
    equal(await client.is_model_ready("spare"), True, f"{name}: loaded")
    config = {"backend": "onnxruntime", "max_batch_size": 3}
    await client.load_model("spare", config=json.dumps(config))
    equal((await client.get_model_config("spare")).config.max_batch_size, 3, f"{name}: another config")
    with open(MODEL, "rb") as file:
        content = file.read()
    config["max_batch_size"] = 5
    await client.load_model("spare", config=json.dumps(config), files={"file:1/model.onnx": content})
    equal((await client.get_model_config("spare")).config.max_batch_size, 5, f"{name}: files")
    await refused(client.load_model("nobody"), NOT_FOUND, f"{name}: load of an unknown model")
    await refused(client.load_model("spare", config="{"), INVALID, f"{name}: load with a broken config")
    equal(await client.is_model_ready("spare"), True, f"{name}: goes on after a failed load")
    await client.load_model("spare")

    regions = await client.get_system_shared_memory_status()
    equal(len(regions.regions), 0, f"{name}: shared memory")
    regions = await client.get_cuda_shared_memory_status()
    equal(len(regions.regions), 0, f"{name}: CUDA shared memory")
    settings = (await client.get_trace_settings()).settings
    equal(list(settings["trace_level"].value), ["OFF"], f"{name}: trace settings")
    settings = (await client.update_trace_settings("add", {"trace_rate": "7", "trace_count": None})).settings
    equal(list(settings["trace_rate"].value), ["7"], f"{name}: changed trace settings")
    settings = (await client.get_trace_settings("spare")).settings
    equal(list(settings["trace_rate"].value), ["1000"], f"{name}: of another model")
    settings = (await client.update_trace_settings("add", {"trace_rate": None})).settings
    equal(list(settings["trace_rate"].value), ["1000"], f"{name}: cleared trace settings")
    wrong = client.update_trace_settings(settings={"trace_rate": "x"})
    await refused(wrong, INVALID, f"{name}: a wrong trace setting")
    for method, arguments in REFUSED.items():
        await refused(getattr(client, method)(**arguments), UNSUPPORTED, f"{name}: {method}")


def count(n):
    """Sends a request with n responses to the decoupled model."""
    return as_input("n", np.array([n], np.int32))


def is_final(result):
    return result.get_response().parameters["triton_final_response"].bool_param


def blocking_streams():
    """Streams: many requests, decoupled models, errors, and cancellation."""
    client = triton.InferenceServerClient(URL)
    x = np.zeros((1, 16), np.float32)
    told = Answers()
    client.start_stream(told)
    for i in range(300):
        client.async_stream_infer("add", [as_input("x", x + i)], request_id=str(i))
    for i in range(300):
        result = told.get()
        equal((result.get_response().id, is_final(result)), (str(i), True), f"stream: {i} in order")
        equal(result.as_numpy("y"), x + i + 1, f"stream: answer {i}")
    for n in (3, 1, 0):
        client.async_stream_infer("count", [count(n)], request_id="d", enable_empty_final_response=True)
        values = []
        while True:
            result = told.get()
            if result.as_numpy("y") is not None:
                values.append(int(result.as_numpy("y")[0]))
            if is_final(result):
                break
        equal(values, list(range(n)), f"stream: a decoupled model with {n} responses")
    for i, (arguments, _) in enumerate(SEQUENCES):
        client.async_stream_infer("sequence", [as_input("x", np.full((1, 1), i, np.float32))], **arguments)
    for i, (arguments, expected) in enumerate(SEQUENCES):
        equal(json.loads(texts(told.get().as_numpy("y"))[0]), [i, expected], f"stream: a sequence, {arguments}")
    client.async_stream_infer("nobody", [as_input("x", x)])
    client.async_stream_infer("add", [as_input("x", x)])
    try:
        told.get()
        raise AssertionError("the stream has answered for nobody")
    except InferenceServerException as error:
        equal("unknown model" in error.message(), True, "stream: an error in it")
    equal(told.get().as_numpy("y"), x + 1, "stream: it goes on after an error")
    client.stop_stream()

    client.start_stream(told)
    client.async_stream_infer("slow", [as_input("x", x)])
    client.stop_stream(cancel_requests=True)
    try:
        told.get()
        raise AssertionError("the slow model has answered")
    except InferenceServerException as error:
        equal(error.status(), str(CANCELLED), "stream: cancelled")

    call = client.async_infer("slow", [as_input("x", x)], callback=told)
    call.cancel()
    try:
        told.get()
        raise AssertionError("the slow model has answered")
    except InferenceServerException as error:
        equal(error.status(), str(CANCELLED), "async_infer: cancelled")
    client.close()


async def aio_streams():
    async with aio.InferenceServerClient(URL) as client:
        async def asked():
            # This client cannot ask for an empty final response: a request without responses ends silently.
            for n in (2, 0, 4):
                yield {"model_name": "count", "inputs": [count(n)], "request_id": str(n)}

        values = {"0": [], "2": [], "4": []}
        async for result, error in client.stream_infer(asked()):
            if error is not None:
                raise error
            name = result.get_response().id
            if result.as_numpy("y") is not None:
                values[name].append(int(result.as_numpy("y")[0]))
        equal(values, {"0": [], "2": [0, 1], "4": [0, 1, 2, 3]}, "aio stream: decoupled models")

        x = np.zeros((1, 16), np.float32)
        results = await asyncio.gather(*[client.infer("add", [as_input("x", x + i)]) for i in range(512)])
        for i, result in enumerate(results):
            equal(result.as_numpy("y"), x + i + 1, f"aio: request {i} of many")

        async def slow():
            yield {"model_name": "slow", "inputs": [as_input("x", x)]}

        responses = client.stream_infer(slow())
        waiting = asyncio.ensure_future(responses.__anext__())
        await asyncio.sleep(0.1)
        equal(responses.cancel(), True, "aio stream: it can be cancelled")
        try:
            await waiting
            raise AssertionError("the slow model has answered")
        except (InferenceServerException, grpc.aio.AioRpcError, asyncio.CancelledError):
            pass
        equal(await client.is_server_ready(), True, "aio: after a cancelled stream")


async def main():
    source = inspect.getsource(sys.modules[__name__])
    check_complete("grpc", triton.InferenceServerClient, source, {*REFUSED, *LOCAL})
    check_complete("grpc.aio", aio.InferenceServerClient, source, {*REFUSED, *LOCAL})
    for kind, name in ((Blocking, "grpc"), (Later, "async_infer"), (Streamed, "stream"), (StreamedAio, "aio stream")):
        client = kind()
        if kind is Blocking:
            await control(client, name)
        await requests(client, name)
        await client.close()
    async with aio.InferenceServerClient(URL) as client:
        await control(client, "grpc.aio")
        await requests(client, "grpc.aio")
    blocking_streams()
    await aio_streams()
    print(f"gRPC: {answers.right} answers are right")


asyncio.run(main())

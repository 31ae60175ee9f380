"""Calls a framework's Python by hand, with batches: by_hand.py FRAMEWORK MODEL THREADS DIMS.

Each line of standard input, "<batch size> <milliseconds>", is answered with a line of JSON. A batch is put together from
the arrays of that many requests, and each request gets its rows of the answer.
"""

import json
import sys
import time
from typing import Callable

import numpy as np

Run = Callable[[np.ndarray], np.ndarray]


def openvino(model: str, threads: int) -> Run:
    import openvino as ov

    compiled = ov.Core().compile_model(
        model,
        "CPU",
        {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": str(threads)},
    )
    request = compiled.create_infer_request()
    return lambda rows: request.infer([rows])[0]


def tensorflow(model: str, threads: int) -> Run:
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    signature = tf.saved_model.load(model).signatures["serving_default"]
    (name,) = signature.structured_input_signature[1]
    (output,) = signature.structured_outputs
    return lambda rows: signature(**{name: tf.constant(rows)})[output].numpy()


def pytorch(model: str, threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    module = torch.jit.load(model)

    def run(rows: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return module(torch.from_numpy(rows)).numpy()

    return run


def main(framework: str, model: str, threads: str, dims: str) -> None:
    run = {"openvino": openvino, "tensorflow": tensorflow, "pytorch": pytorch}[framework](model, int(threads))
    shape = [1, *(int(dim) for dim in dims.split(","))]
    random = np.random.default_rng(1)
    requests = [random.uniform(-1, 1, shape).astype(np.float32) for _ in range(64)]
    for line in sys.stdin:
        batch, milliseconds = (int(word) for word in line.split())
        answers = 0
        begin = time.perf_counter()
        end = begin + milliseconds / 1000
        while time.perf_counter() < end:
            chosen = [requests[(answers + i) % 64] for i in range(batch)]
            rows = chosen[0] if batch == 1 else np.concatenate(chosen)
            output = run(rows)
            answers += len([output[i] for i in range(batch)])
        seconds = time.perf_counter() - begin
        print(json.dumps({"batch": batch, "items": answers, "seconds": seconds}), flush=True)


main(*sys.argv[1:])

"""Calls OpenVINO's Python by hand, with batches: by_hand.py MODEL THREADS DIMS.

Each line of standard input, "<batch size> <milliseconds>", is answered with a line of JSON. A batch is put together from
the arrays of that many requests, and each request gets its rows of the answer.
"""

import json
import sys
import time

import numpy as np
import openvino as ov


def main(model: str, threads: str, dims: str) -> None:
    compiled = ov.Core().compile_model(
        model,
        "CPU",
        {"INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads},
    )
    shape = [1, *(int(dim) for dim in dims.split(","))]
    random = np.random.default_rng(1)
    requests = [random.uniform(-1, 1, shape).astype(np.float32) for _ in range(64)]
    request = compiled.create_infer_request()
    for line in sys.stdin:
        batch, milliseconds = (int(word) for word in line.split())
        answers = 0
        begin = time.perf_counter()
        end = begin + milliseconds / 1000
        while time.perf_counter() < end:
            chosen = [requests[(answers + i) % 64] for i in range(batch)]
            rows = chosen[0] if batch == 1 else np.concatenate(chosen)
            output = request.infer([rows])[0]
            answers += len([output[i] for i in range(batch)])
        seconds = time.perf_counter() - begin
        print(json.dumps({"batch": batch, "items": answers, "seconds": seconds}), flush=True)


main(*sys.argv[1:])

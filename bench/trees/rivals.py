"""Runs the C APIs of XGBoost and LightGBM for `npm run bench -- trees`: python rivals.py <folder> <threads>

Reads a JSON object from each line of stdin, and answers with one:
  {"load": case, "features": n}                   loads the models of a case
  {"rival": name, "rows": n, "ms": t}             calls it with n rows for t ms; the answer has `calls` and `seconds`
  {"rival": name, "rows": n, "answers": file}     writes the answers to n rows to a file, as FP64
One row is evaluated by one thread, which is faster than more.
"""

import ctypes
import json
import sys
import time
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

folder, threads = Path(sys.argv[1]), int(sys.argv[2])
# The libraries as their packages have loaded them.
xgb_library, lgb_library = xgboost.core._LIB, lightgbm.basic._LIB


def check(result: int, message) -> None:
    if result != 0:
        raise RuntimeError(message().decode())


class XGBoost:
    """XGBoosterPredictFromDense: no DMatrix is made, and the result is the library's own memory."""

    def __init__(self, file: Path, features: int) -> None:
        self.boosters = [xgboost.Booster({"nthread": number}, model_file=file) for number in (1, threads)]
        self.features = features
        xgb_library.XGBGetLastError.restype = ctypes.c_char_p

    def prepare(self, rows: np.ndarray):
        count = len(rows)
        shape, dimensions = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()
        result = ctypes.POINTER(ctypes.c_float)()
        data = {"data": [rows.ctypes.data, True], "shape": rows.shape, "typestr": "<f4", "version": 3}
        config = (
            b'{"type":0,"iteration_begin":0,"iteration_end":0,"strict_shape":false,"missing":NaN,"training":false,"cache_id":0}'
        )
        function = xgb_library.XGBoosterPredictFromDense
        values = json.dumps(data).encode()
        others = (ctypes.byref(shape), ctypes.byref(dimensions), ctypes.byref(result))
        handle = self.boosters[0 if count == 1 else 1].handle

        def call() -> None:
            check(function(handle, values, config, None, *others), xgb_library.XGBGetLastError)

        return call, lambda: np.ctypeslib.as_array(result, (count,)).astype(np.float64)


class LightGBM:
    """LGBM_BoosterPredictForMat, and LGBM_BoosterPredictForMatSingleRowFast for one row."""

    def __init__(self, file: Path, features: int) -> None:
        self.booster = lightgbm.Booster(model_file=file)
        self.features = features
        lgb_library.LGBM_GetLastError.restype = ctypes.c_char_p

    def prepare(self, rows: np.ndarray):
        count = len(rows)
        length = ctypes.c_int64()
        result = np.zeros(count)
        out = ctypes.c_void_p(result.ctypes.data)
        data = ctypes.c_void_p(rows.ctypes.data)
        handle = self.booster._handle
        parameters = f"num_threads={1 if count == 1 else threads}".encode()
        normal, all_trees, as_float = ctypes.c_int(0), ctypes.c_int(-1), ctypes.c_int(0)
        if count == 1:
            fast = ctypes.c_void_p()
            width = ctypes.c_int32(self.features)
            check(
                lgb_library.LGBM_BoosterPredictForMatSingleRowFastInit(
                    handle, normal, normal, all_trees, as_float, width, parameters, ctypes.byref(fast)
                ),
                lgb_library.LGBM_GetLastError,
            )
            function, arguments = lgb_library.LGBM_BoosterPredictForMatSingleRowFast, (fast, data)
        else:
            function = lgb_library.LGBM_BoosterPredictForMat
            sizes = (ctypes.c_int32(count), ctypes.c_int32(self.features), ctypes.c_int(1))
            arguments = (handle, data, as_float, *sizes, normal, normal, all_trees, parameters)
        arguments = (*arguments, ctypes.byref(length), out)

        def call() -> None:
            check(function(*arguments), lgb_library.LGBM_GetLastError)

        return call, result.copy


rivals: dict = {}
rows = np.zeros((0, 1), np.float32)
prepared: dict = {}
for line in sys.stdin:
    wanted = json.loads(line)
    answer: dict = {}
    if "load" in wanted:
        case = folder / wanted["load"]
        rows = np.fromfile(case / "rows.bin", np.float32).reshape(-1, wanted["features"])
        rivals = {
            "xgboost": XGBoost(case / "xgboost.ubj", wanted["features"]),
            "lightgbm": LightGBM(case / "model.txt", wanted["features"]),
        }
        prepared = {}
    else:
        key = (wanted["rival"], wanted["rows"])
        if key not in prepared:
            prepared[key] = rivals[key[0]].prepare(rows[: key[1]])
        call, read = prepared[key]
        if "answers" in wanted:
            call()
            read().tofile(wanted["answers"])
        else:
            calls, begin = 0, time.perf_counter()
            end, now = begin + wanted["ms"] / 1000, begin
            # The clock is read after some calls of a small batch only.
            together = 20 if wanted["rows"] < 100 else 1
            while now < end:
                for _ in range(together):
                    call()
                calls += together
                now = time.perf_counter()
            answer = {"calls": calls, "seconds": now - begin}
    print(json.dumps(answer), flush=True)

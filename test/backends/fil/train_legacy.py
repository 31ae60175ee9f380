"""Trains models and writes them in the old binary format of XGBoost: python train_legacy.py <folder>

Writes <folder>/legacy.json, in the form of answers.json, and a file for each model. Packages: requirements-legacy.txt.
"""

import json
import sys
from pathlib import Path

import numpy as np
import xgboost as xgb

FEATURES = 6


def main() -> None:
    folder = Path(sys.argv[1])
    random = np.random.default_rng(7)
    rows = random.normal(size=(316, FEATURES)).round(2)
    rows[random.random(rows.shape) < 0.1] = np.nan
    rows = rows.astype(np.float32)
    score = np.nan_to_num(rows) @ [1, -0.5, 0.3, 0, 0.2, 0] + np.sin(2 * np.nan_to_num(rows[:, 0]))
    order = np.argsort(np.argsort(score)) / len(score)
    targets = {"score": score, "binary": order > 0.6, "class": np.minimum(order * 3, 2).astype(int)}
    targets["count"] = random.poisson(np.exp(0.3 * score))
    known, asked = rows[:300], rows[300:]
    models = []
    for name, target, parameters in [
        ("squarederror", "score", {"objective": "reg:squarederror"}),
        ("binary", "binary", {"objective": "binary:logistic"}),
        ("softprob", "class", {"objective": "multi:softprob", "num_class": 3}),
        ("poisson", "count", {"objective": "count:poisson"}),
        ("dart", "score", {"objective": "reg:squarederror", "booster": "dart", "rate_drop": 0.5}),
        ("forest", "binary", {"objective": "binary:logistic", "num_parallel_tree": 3, "subsample": 0.7}),
    ]:
        plain = {"max_depth": 3, "eta": 0.4, "seed": 7, "nthread": 1}
        booster = xgb.train(plain | parameters, xgb.DMatrix(known, targets[target][:300]), 5)
        questions = xgb.DMatrix(asked)
        file = f"legacy_{name}.model"
        (folder / file).write_bytes(booster.save_raw("deprecated"))
        values = booster.predict(questions).reshape(len(asked), -1)
        contributions = booster.predict(questions, pred_contribs=True)
        models.append({
            "name": f"legacy_{name}", "file": file, "type": "xgboost", "rows": "legacy", "columns": values.shape[1],
            "values": numbers(values), "contributions": numbers(contributions),
        })
    written = [[None if np.isnan(x) else float(str(x)) for x in row] for row in asked]
    lines = ",\n".join(json.dumps(model, separators=(",", ":")) for model in models)
    rows_text = json.dumps({"legacy": written}, separators=(",", ":"))
    (folder / "legacy.json").write_text(f'{{"rows":{rows_text},\n"models":[\n{lines}\n]}}\n')


def numbers(values: np.ndarray) -> list[float]:
    return [float(f"{value:.9g}") for value in np.asarray(values, np.float64).ravel()]


if __name__ == "__main__":
    main()

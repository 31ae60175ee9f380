"""Trains the models of `npm run bench -- trees`: python train.py <folder> <name> <trees> <depth> <features> <rows>

Writes <folder>/<name>/: xgboost.ubj, model.txt, and rows.bin, FP32 rows to ask for, of which 1 in 20 values is missing.
"""

import sys
from pathlib import Path

import lightgbm as lgb
import numpy as np
import xgboost as xgb

folder = Path(sys.argv[1]) / sys.argv[2]
trees, depth, features, rows = (int(word) for word in sys.argv[3:7])
random = np.random.default_rng(1)
# Each tree takes a part of the features, and training one thread: its trees are small, and threads wait for each other.
known = random.normal(size=(10_000, features)).astype(np.float32)
asked = random.normal(size=(rows, features)).astype(np.float32)
target = np.sin(2 * known[:, 0]) + known[:, 1] * known[:, 2] + random.normal(size=len(known))
for table in (known, asked):
    table[random.random(table.shape) < 0.05] = np.nan
label = (target > 0).astype(int)

folder.mkdir(parents=True, exist_ok=True)
settings = {"objective": "binary:logistic", "max_depth": depth, "eta": 0.1, "tree_method": "hist", "seed": 1}
settings |= {"colsample_bytree": 0.2, "nthread": 1}
booster = xgb.train(settings, xgb.DMatrix(known, label), trees)
(folder / "xgboost.ubj").write_bytes(booster.save_raw("ubj"))
# LightGBM grows leaf by leaf, so that the number of leaves limits it as well.
settings = {"objective": "binary", "max_depth": depth, "num_leaves": min(2**depth, 1000), "min_data_in_leaf": 5}
settings |= {"learning_rate": 0.1, "feature_fraction": 0.2, "num_threads": 1, "verbose": -1}
lgb.train(settings, lgb.Dataset(known.astype(np.float64), label), trees).save_model(folder / "model.txt")
asked.tofile(folder / "rows.bin")

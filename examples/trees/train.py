"""Trains the model of this example: boosted trees that recognise handwritten digits.

Writes models/digits_trees/1/xgboost.ubj next to this file. The images of ../digits/held-out.txt are not trained on.
"""

from pathlib import Path

import numpy as np
import xgboost as xgb
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

HERE = Path(__file__).parent

images, labels = load_digits(return_X_y=True)
# The same split as in ../digits/train.py.
split = train_test_split(images.astype(np.float32), labels, test_size=0.2, stratify=labels, random_state=0)
seen, held_out, seen_labels, held_out_labels = split
parameters = {"objective": "multi:softprob", "num_class": 10, "max_depth": 3, "eta": 0.5, "subsample": 0.8, "seed": 0}
booster = xgb.train(parameters, xgb.DMatrix(seen, seen_labels), 12)
path = HERE / "models" / "digits_trees" / "1" / "xgboost.ubj"
path.parent.mkdir(parents=True, exist_ok=True)
path.write_bytes(booster.save_raw("ubj"))
right = booster.predict(xgb.DMatrix(held_out)).argmax(axis=1) == held_out_labels
print(f"{path.stat().st_size / 1000:.0f} kB, {right.sum()} of {len(right)} held-out images right")

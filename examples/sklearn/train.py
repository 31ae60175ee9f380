"""Trains a classifier of handwritten digits and exports it to ONNX: python train.py <folder>

Writes <folder>/models, a model repository, and <folder>/held-out.json: images that the classifier was not trained on, with
scikit-learn's own predictions for them.
"""

import json
import sys
from pathlib import Path

import numpy as np
from skl2onnx import to_onnx
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

folder = Path(sys.argv[1])
pixels, digits = load_digits(return_X_y=True)
seen, held_out, labels, _ = train_test_split(pixels, digits, test_size=0.2, random_state=0)
classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(seen, labels)

# zipmap=False: probabilities as a tensor. The default is a sequence of maps, which no server of tensors can return.
exported = to_onnx(classifier, seen[:1].astype(np.float32), options={"zipmap": False})
model = folder / "models" / "digits"
(model / "1").mkdir(parents=True, exist_ok=True)
(model / "1" / "model.onnx").write_bytes(exported.SerializeToString())
# A row out for each row in, as every classifier of scikit-learn has: it can be batched. The file does not say so.
(model / "config.pbtxt").write_text("max_batch_size: 64\n")

predictions = {
    "images": held_out.tolist(),
    "labels": classifier.predict(held_out).tolist(),
    "probabilities": classifier.predict_proba(held_out).tolist(),
}
(folder / "held-out.json").write_text(json.dumps(predictions))

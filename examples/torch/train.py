"""Trains a small network of handwritten digits with PyTorch and exports it to ONNX: python train.py <folder>

Writes <folder>/models, a model repository, and <folder>/held-out.json: images that the network was not trained on, with
PyTorch's own answers for them.
"""

import json
import sys
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

folder = Path(sys.argv[1])
torch.manual_seed(0)
pixels, digits = load_digits(return_X_y=True)
seen, held_out, labels, held_out_labels = (
    torch.as_tensor(part) for part in train_test_split(pixels, digits, test_size=0.2, random_state=0)
)


class Digits(nn.Module):
    """Convolutions over 8 x 8 pixels from 0 to 16: FP32 [N, 64] to scores, FP32 [N, 10]."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Unflatten(1, (1, 8, 8)),
            nn.Conv2d(1, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(0.2),
            nn.Linear(16 * 4 * 4, 10),
        )

    def forward(self, image):
        return self.layers(image / 16)


network = Digits()
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(network(seen.float()), labels).backward()
    optimizer.step()

# eval() before the export: a dropout or a normalisation in training mode would be exported as such.
network.eval()
exported = torch.onnx.export(
    network,
    (held_out[:2].float(),),
    input_names=["image"],
    output_names=["scores"],
    # Without a dimension of any size the file would serve batches of 2 alone. Its name has no meaning for the server.
    dynamic_shapes={"image": {0: torch.export.Dim("batch")}},
    dynamo=True,
)
model = folder / "models" / "digits"
(model / "1").mkdir(parents=True, exist_ok=True)
# One file. Weights of more than 2 GB need external_data=True, and lie in a file beside it.
exported.save(str(model / "1" / "model.onnx"), external_data=False)
# The first dimension of the input and the output has any size: the server completes the rest from the file.
(model / "config.pbtxt").write_text("max_batch_size: 64\ndynamic_batching { }\n")

with torch.inference_mode():
    scores = network(held_out.float())
answers = {"images": held_out.tolist(), "labels": held_out_labels.tolist(), "scores": scores.tolist()}
(folder / "held-out.json").write_text(json.dumps(answers))

"""Trains a small network of handwritten digits, and writes all that the server needs: python train.py <folder>

Writes <folder>/models, this folder's models with the network in TorchScript, and <folder>/pictures: digits that the network
was not trained on, as JPEG files <number>-<digit>.jpg.
"""

import shutil
import sys
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn

here, folder = Path(__file__).parent, Path(sys.argv[1])
torch.manual_seed(0)
pixels, digits = load_digits(return_X_y=True)
images = torch.as_tensor(pixels / 16, dtype=torch.float32).reshape(-1, 1, 8, 8)
seen, held_out, labels, held_out_labels = train_test_split(images, torch.as_tensor(digits), test_size=0.2, random_state=0)

network = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(16 * 4 * 4, 10),
)
optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
for _ in range(60):
    optimizer.zero_grad()
    nn.functional.cross_entropy(network(seen), labels).backward()
    optimizer.step()

shutil.copytree(here / "models", folder / "models", dirs_exist_ok=True)
# eval() before the export: a dropout or a normalisation in training mode would be exported as such.
exported = torch.jit.trace(nn.Sequential(network, nn.Softmax(1)).eval(), held_out[:2])
exported.save(str(folder / "models" / "classifier" / "1" / "model.pt"))

pictures = folder / "pictures"
pictures.mkdir(exist_ok=True)
for i, (image, digit) in enumerate(zip(held_out, held_out_labels)):
    # Each pixel becomes a square, dark on white.
    grey = (255 * (1 - image[0].numpy())).astype(np.uint8).repeat(20, 0).repeat(20, 1)
    Image.fromarray(grey).save(pictures / f"{i:03}-{digit}.jpg", quality=90)

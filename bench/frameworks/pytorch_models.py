"""Writes the models of the benchmark in TorchScript: pytorch_models.py REPOSITORY NAME..."""

import os
import sys

import torch
from torch import nn


class Add(nn.Module):
    def forward(self, x):
        return x + 1


def perceptron(*widths: int) -> nn.Module:
    """Layers of these widths, with ReLU between them."""
    parts = []
    for a, b in zip(widths, widths[1:]):
        parts += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*parts[:-1])


class Block(nn.Module):
    def __init__(self, width: int, out: int, stride: int):
        super().__init__()
        self.first = nn.Conv2d(width, out, 3, stride, 1)
        self.second = nn.Conv2d(out, out, 3, 1, 1)
        self.side = nn.Conv2d(width, out, 1, stride) if stride == 2 else nn.Identity()

    def forward(self, x):
        return torch.relu(self.second(torch.relu(self.first(x))) + self.side(x))


class Conv(nn.Module):
    """A net like ResNet-18 on images of 3 x 224 x 224."""

    def __init__(self):
        super().__init__()
        parts = [nn.Conv2d(3, 64, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
        width = 64
        for stage, out in enumerate((64, 128, 256, 512)):
            for block in range(2):
                parts.append(Block(width, out, 2 if stage > 0 and block == 0 else 1))
                width = out
        self.body = nn.Sequential(*parts)
        self.head = nn.Linear(512, 1000)

    def forward(self, image):
        return self.head(self.body(image).mean([2, 3]))


MODELS = {
    "add": Add,
    "digits": lambda: perceptron(64, 32, 10),
    "mlp": lambda: perceptron(512, 2048, 2048, 512),
    "conv": Conv,
}


def main(repository: str, *names: str) -> None:
    torch.manual_seed(1)
    for name in names:
        module = torch.jit.script(MODELS[name]().eval())
        module.save(os.path.join(repository, name, "1", "model.pt"))


main(*sys.argv[1:])

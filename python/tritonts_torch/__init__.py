"""Runs models in TorchScript in a Python with torch, where libtorch has no shim. See src/backends/pytorch/."""

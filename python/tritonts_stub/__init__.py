"""Runs a Python model for tritonts: the loop of its process, and the classes of `triton_python_backend_utils`."""

"""What runs a Python model for tritonts: its process, and what `triton_python_backend_utils` is made of."""

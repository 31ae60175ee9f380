"""Runs one instance of a Python model. The server starts it; see src/python/ and native/python/."""

import sys

if sys.version_info < (3, 8):
    sys.exit("python %d.%d is too old: 3.8 is the oldest that works" % sys.version_info[:2])

# Python must not write bytecode into the package's folder.
writes, sys.dont_write_bytecode = sys.dont_write_bytecode, True
from tritonts_stub.serve import main  # noqa: E402

import triton_python_backend_utils  # noqa: E402, F401

sys.dont_write_bytecode = writes
if __name__ == "__main__":
    main()

"""Imports torch, or says why this Python cannot and what helps."""

import sys

from tritonts_stub.errors import TritonModelException, named_text_of

from .faults import lacks_memory

try:
    import torch  # noqa: F401
except Exception as error:
    # One of its libraries may be missing, or be of another version.
    text = "%s (Python %d.%d.%d) cannot import torch: %s" % (
        (sys.executable,) + sys.version_info[:3] + (named_text_of(error),)
    )
    if lacks_memory(error):
        raise TritonModelException(text, "UNAVAILABLE", "NO_MEMORY") from error
    advice = "install it again with '%s -m pip install --force-reinstall torch'" % sys.executable
    raise TritonModelException(
        "%s; %s, or name a Python that has it in backendConfig.python.executable" % (text, advice),
        "UNAVAILABLE",
        "MISSING",
    ) from error

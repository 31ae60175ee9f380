"""The errors of libtorch, in the words that the backend has for them elsewhere (native/backends/pytorch)."""

import re

from tritonts_stub.errors import ForeignError, ModelFault, TritonModelException

FAILED = "PyTorch execute failure: "
_WRITE = "torch.jit.script(model).save('model.pt') or torch.jit.trace(model, inputs).save('model.pt')"

#: A line that is an error, such as "RuntimeError: …", and no line of a program.
_error = re.compile(r"^(?!(?:else|try|finally):)[A-Za-z0-9_.]+: .*", re.MULTILINE | re.DOTALL)


def last_error(text):
    """The error at the end of a text with TorchScript's stack, which shows lines of the program."""
    place = text.rfind("<--- HERE")
    found = _error.search(text, text.find("\n", place) + 1) if place >= 0 and "\n" in text[place:] else None
    return text if found is None else found.group()


def lacks_memory(error):
    """Whether an exception says that the system has no memory left."""
    return isinstance(error, MemoryError) or "can't allocate memory" in str(error)


def fault_of(error, prefix, advice=""):
    """The error for an exception of libtorch. TorchScript's stack becomes its origin."""
    text = str(error).rstrip()
    own = last_error(text)
    if lacks_memory(error):
        return TritonModelException(prefix + own, "UNAVAILABLE", "NO_MEMORY")
    return ForeignError(prefix + own + advice, own + advice, text if own != text else None)


def advice_for(text):
    """What to do about an error of loading that many files have."""
    if "constants.pkl" in text:
        return ". A file of torch.save has weights and no code: write the model with " + _WRITE
    if any(
        part in text for part in ("failed finding central directory", "not a ZIP archive", "istream reader failed")
    ):
        return ". It is cut off, or no model in TorchScript, which is written with " + _WRITE
    return ""


def invalid(text):
    """The error of a result that does not fit the configuration."""
    return ModelFault(text, "INVALID_ARG")


def internal(text):
    """The error of a result that no configuration fits."""
    return ModelFault(text, "INTERNAL")

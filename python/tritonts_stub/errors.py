"""Errors of models and of the server."""

_codes = (
    "UNKNOWN",
    "INTERNAL",
    "NOT_FOUND",
    "INVALID_ARG",
    "UNAVAILABLE",
    "UNSUPPORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
)


class TritonModelException(Exception):
    """What a model raises, and what is raised when the server refuses something."""

    def __init__(self, message="", code=None):
        super().__init__(message)
        self.code = code if code in _codes else "INTERNAL"


class TritonError:
    """Why there is no answer to a request."""

    __slots__ = ("_message", "_code")
    __match_args__ = ("message", "code")

    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(1, 9)

    def __init__(self, message, code=2):
        if not isinstance(code, int) or not 1 <= code <= 8:
            raise TritonModelException("the code of a TritonError is one of its own, such as TritonError.INVALID_ARG")
        self._message = str(message)
        self._code = code

    def message(self):
        return self._message

    def code(self):
        return self._code

    def __str__(self):
        return self._message


def unsupported(what):
    """The error for what this server does not do."""
    return TritonModelException(what, "UNSUPPORTED")


def text_of(error):
    """What an exception says, also when it cannot say it."""
    try:
        return str(error)
    except Exception as other:
        return "its text cannot be read: str() raises %s" % type(other).__name__


def named_text_of(error):
    """The same behind the name of its class."""
    return "%s: %s" % (type(error).__name__, text_of(error))


def code_of(error):
    """The number of an exception's code."""
    return _codes.index(getattr(error, "code", "INTERNAL")) + 1 if isinstance(error, TritonModelException) else 2


def code_name(number):
    return _codes[number - 1] if 1 <= number <= 8 else "INTERNAL"

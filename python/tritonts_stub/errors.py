"""Errors of models and of the server."""

import re

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


#: By number, as src/addon/status.ts has them; 0 is none.
_reasons = (
    None,
    "QUEUE_FULL",
    "TIMED_OUT",
    "CLOSED",
    "NOT_READY",
    "TOO_MUCH_IN_FLIGHT",
    "NO_MEMORY",
    "MISSING",
    "INSTANCE_ENDED",
    "UNREAD",
    "CIRCULAR_CALL",
    "DEVICE_LOST",
    "LOAD_FAILED",
    "NO_ADDON",
    "NO_CONNECTION",
    "NOT_ALLOWED",
    "SYSTEM_REFUSED",
)


class TritonModelException(Exception):
    """What a model raises, and what is raised when the server refuses something."""

    def __init__(self, message="", code=None, reason=None):
        super().__init__(message)
        self.code = code if code in _codes else "INTERNAL"
        #: Why it is UNAVAILABLE, such as "QUEUE_FULL"; None without a reason.
        self.reason = reason if reason in _reasons else None


class TritonError:
    """Why there is no answer to a request."""

    __slots__ = ("_message", "_code", "_reason")
    __match_args__ = ("message", "code")

    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(1, 9)

    def __init__(self, message, code=2):
        if not isinstance(code, int) or not 1 <= code <= 8:
            raise TritonModelException("the code of a TritonError is one of its own, such as TritonError.INVALID_ARG")
        self._message = str(message)
        self._code = code
        self._reason = 0

    @classmethod
    def _of(cls, message, number):
        """The error of a number that the server or `code_of` made: the code, and the reason in the second byte."""
        error = cls(message, number & 0xFF)
        error._reason = number >> 8 & 0xFF
        return error

    def _number(self):
        return self._code | self._reason << 8

    def message(self):
        return self._message

    def code(self):
        return self._code

    @property
    def reason(self):
        """Why it is UNAVAILABLE, such as "QUEUE_FULL"; None without a reason."""
        return _reasons[self._reason] if self._reason < len(_reasons) else None

    def __str__(self):
        return self._message


#: Stands before the trace in a message of the wire (src/addon/status.ts has the same).
_origin = re.compile("\0\x01([0-9]+)\x01\0")


def with_origin(text, trace):
    """A message of the wire that is all the model's own, with its trace."""
    # The server counts as JavaScript does.
    length = len(text.encode("utf-16-le", errors="replace")) // 2
    return "%s\0\x01%d\x01\0%s" % (text, length, trace)


def without_origin(message):
    """The text of a message of the wire."""
    return _origin.split(message, 1)[0]


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
    """The number of an exception's code, with that of its reason in the second byte."""
    if not isinstance(error, TritonModelException):
        return 2
    # A class of the model's own may have other things by these names.
    code, reason = _text_at(error, "code"), _text_at(error, "reason")
    return (_codes.index(code) if code in _codes else 1) + 1 | (_reasons.index(reason) << 8 if reason in _reasons else 0)


def _text_at(error, name):
    """An attribute that is a text; None if there is none."""
    try:
        value = getattr(error, name, None)
    except Exception:
        return None
    return value if type(value) is str else None


def reason_name(number):
    return _reasons[number] if number < len(_reasons) else None


def code_name(number):
    return _codes[number - 1] if 1 <= number <= 8 else "INTERNAL"

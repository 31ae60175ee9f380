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


#: Reasons by number, as in src/addon/status.ts; 0: none.
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
    """An error that a model raises, or that the server returns to it."""

    def __init__(self, message="", code=None, reason=None):
        super().__init__(message)
        self.code = code if code in _codes else "INTERNAL"
        #: The reason of UNAVAILABLE, such as "QUEUE_FULL"; None without a reason.
        self.reason = reason if reason in _reasons else None


class ModelFault(TritonModelException):
    """An error of a batch for which no single request is the reason, so that no part of the batch is run again."""


class ForeignError(TritonModelException):
    """An error of a library that has its own words for where it happened, instead of Python's trace."""

    def __init__(self, message, own, origin):
        """`own`: the library's part of the message, at its end. `origin`: where it happened; None: it is not known."""
        super().__init__(message)
        self.own, self.origin = own, origin


class TritonError:
    """The error of a request."""

    __slots__ = ("_message", "_code", "_reason")
    __match_args__ = ("message", "code")

    UNKNOWN, INTERNAL, NOT_FOUND, INVALID_ARG, UNAVAILABLE, UNSUPPORTED, ALREADY_EXISTS, CANCELLED = range(1, 9)

    def __init__(self, message, code=2):
        if not isinstance(code, int) or not 1 <= code <= 8:
            raise TritonModelException(
                "code: expected a code of TritonError, such as TritonError.INVALID_ARG, but got %s" % code
            )
        self._message = str(message)
        self._code = code
        self._reason = 0

    @classmethod
    def _of(cls, message, number):
        """The error of a number from the server or `code_of`: the code, with the reason in the second byte."""
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
        """The reason of UNAVAILABLE, such as "QUEUE_FULL"; None without a reason."""
        return _reasons[self._reason] if self._reason < len(_reasons) else None

    def __str__(self):
        return self._message


#: Separates the text and the trace in a message to the server; as in src/addon/status.ts.
_origin = re.compile("\0\x01([0-9]+)\x01\0")


def with_origin(text, trace, own=None):
    """A message to the server, with the text of the model's error and its trace. `own`: the end of the text that is the
    cause's (default: all of it)."""
    # The length counts UTF-16 units, as JavaScript does.
    length = len((text if own is None else own).encode("utf-16-le", errors="replace")) // 2
    return "%s\0\x01%d\x01\0%s" % (text, length, trace)


def without_origin(message):
    """The text of a message from the server, without its trace."""
    return _origin.split(message, 1)[0]


def unsupported(what):
    """The error for a function that this server does not support."""
    return TritonModelException(what, "UNSUPPORTED")


def text_of(error):
    """The text of an exception, even if its `__str__` raises."""
    try:
        return str(error)
    except Exception as other:
        return "its text cannot be read: str() raises %s" % type(other).__name__


def named_text_of(error):
    """The text of an exception, preceded by the name of its class."""
    return "%s: %s" % (type(error).__name__, text_of(error))


def code_of(error):
    """The number of an exception's code, with the number of its reason in the second byte."""
    if not isinstance(error, TritonModelException):
        return 2
    # A model's own exception class may use these names for other attributes.
    code, reason = _text_at(error, "code"), _text_at(error, "reason")
    return (_codes.index(code) if code in _codes else 1) + 1 | (_reasons.index(reason) << 8 if reason in _reasons else 0)


def _text_at(error, name):
    """An attribute, if it is a text; else None."""
    try:
        value = getattr(error, name, None)
    except Exception:
        return None
    return value if type(value) is str else None


def reason_name(number):
    return _reasons[number] if number < len(_reasons) else None


def code_name(number):
    return _codes[number - 1] if 1 <= number <= 8 else "INTERNAL"

"""Properties of requests besides their tensors: ids, parameters, time-outs, wanted outputs."""

import struct

from .errors import TritonModelException, unsupported

ID = "triton_request_id"

SEQUENCE_START, SEQUENCE_END = 1, 2
#: The maximum size of a correlation id that is a text, as in Triton.
MOST_ID_BYTES = 128

_entry = struct.Struct("<III")
_sequence_kind = 4
_sequence = struct.Struct("<QI")
_parameter_kinds = {0: None, 1: struct.Struct("<q"), 2: struct.Struct("<d"), 3: struct.Struct("<q")}

#: The limit of the parameters of a response (native/engine/request/response_parameters.h).
MOST_PARAMETER_BYTES = 64 << 10


def _entries(data):
    """The kind, the name and the bytes of the value of each entry."""
    at = 0
    while at < len(data):
        kind, name, size = _entry.unpack_from(data, at)
        at += _entry.size
        text = bytes(data[at : at + name]).decode(errors="replace")
        yield kind, text, bytes(data[at + name : at + name + size])
        at += name + size


def _value(kind, data):
    if kind == 0:
        return data.decode(errors="replace")
    (number,) = _parameter_kinds[kind].unpack(data)
    return number != 0 if kind == 3 else number


def read_parameters(data):
    """Reads the parameters of a response."""
    return {name: _value(kind, value) for kind, name, value in _entries(data)}


def _entry_of(name, value):
    """A parameter as its kind, the bytes of its name, and those of its value."""
    if not isinstance(name, str):
        raise TritonModelException("parameters: expected names of type str but got %r" % (name,), "INVALID_ARG")
    if "\0" in name:
        raise TritonModelException(
            "parameters: expected names without a zero character but got %r" % (name,), "INVALID_ARG"
        )
    try:
        if isinstance(value, bool):
            return 3, name.encode(), _parameter_kinds[3].pack(int(value))
        if isinstance(value, int):
            return 1, name.encode(), _parameter_kinds[1].pack(value)
        if isinstance(value, float):
            return 2, name.encode(), _parameter_kinds[2].pack(value)
        if isinstance(value, str):
            return 0, name.encode(), value.encode()
    except struct.error:
        raise TritonModelException(
            "parameter '%s': expected an int of 64 bits but got %d" % (name, value), "INVALID_ARG"
        ) from None
    except UnicodeEncodeError:
        raise TritonModelException("parameter %r: expected text that UTF-8 can encode" % name, "INVALID_ARG") from None
    raise TritonModelException(
        "parameter '%s': expected a str, int, float or bool but got %s" % (name, type(value).__name__), "INVALID_ARG"
    )


def write_parameters(parameters):
    """The reverse of `read_parameters`. Raises if they are invalid or beyond the limit."""
    entries = [_entry_of(name, value) for name, value in parameters.items()]
    # As in the engine's memory, where a bool has 4 bytes, and names and values are padded.
    size = sum(
        12 + (len(name) + 3) // 4 * 4 + (4 if kind == 3 else (len(value) + 3) // 4 * 4) for kind, name, value in entries
    )
    if size > MOST_PARAMETER_BYTES:
        raise TritonModelException(
            "parameters: expected at most %d bytes for a response but got %d" % (MOST_PARAMETER_BYTES, size),
            "INVALID_ARG",
        )
    return b"".join(_entry.pack(kind, len(name), len(value)) + name + value for kind, name, value in entries)


def read_attributes(data):
    """Reads the id, the parameters and the sequence of requests (protocol.h)."""
    found, correlation_id, flags = {}, 0, 0
    for kind, name, value in _entries(data):
        if kind == _sequence_kind:
            correlation_id, flags = _sequence.unpack(value)
            correlation_id = name or correlation_id
        else:
            found[name] = _value(kind, value)
    return found.pop(ID, ""), found, correlation_id, flags


def write_attributes(request_id, parameters, correlation_id=0, flags=0):
    """The reverse of `read_attributes`."""
    attributes = []
    if flags or correlation_id not in (0, ""):
        is_text = isinstance(correlation_id, str)
        name = correlation_id.encode() if is_text else b""
        attributes.append(
            _entry.pack(_sequence_kind, len(name), _sequence.size)
            + name
            + _sequence.pack(0 if is_text else correlation_id, flags)
        )
    entries = dict(parameters or {})
    if request_id:
        entries[ID] = request_id
    for name, value in entries.items():
        kind, name_bytes, data = _entry_of(name, value)
        attributes.append(_entry.pack(kind, len(name_bytes), len(data)) + name_bytes + data)
    return b"".join(attributes)


def checked_id(correlation_id):
    """A correlation id that a model gave."""
    if isinstance(correlation_id, str):
        size = len(correlation_id.encode())
        if size > MOST_ID_BYTES:
            raise unsupported("correlation_id: expected at most %d bytes but got %d" % (MOST_ID_BYTES, size))
        return correlation_id
    if isinstance(correlation_id, int) and not isinstance(correlation_id, bool) and 0 <= correlation_id < 1 << 64:
        return correlation_id
    raise TritonModelException(
        "correlation_id: expected a str or an int from 0 to 2^64 - 1 but got %r" % (correlation_id,), "INVALID_ARG"
    )


def checked_flags(flags):
    """Flags that a model gave."""
    if isinstance(flags, int) and flags & ~(SEQUENCE_START | SEQUENCE_END) == 0:
        return int(flags)
    raise TritonModelException(
        "flags: expected a combination of TRITONSERVER_REQUEST_FLAG_SEQUENCE_START and _END but got %r" % (flags,),
        "INVALID_ARG",
    )


class Attributes:
    """Properties that the requests of a group share, besides their tensors."""

    __slots__ = ("id", "parameters", "priority", "timeout", "wanted", "counted", "rows", "correlation_id", "flags")

    def __init__(self, id, parameters, priority, timeout, wanted, counted, rows, correlation_id=0, flags=0):
        self.id, self.parameters, self.priority = id, parameters, priority
        self.timeout, self.wanted, self.counted, self.rows = timeout, wanted, counted, rows
        self.correlation_id, self.flags = correlation_id, flags

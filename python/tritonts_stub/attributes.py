"""Properties of requests besides their tensors: ids, parameters, time-outs, wanted outputs."""

import struct

from .errors import TritonModelException

ID = "triton_request_id"

_entry = struct.Struct("<III")
_parameter_kinds = {0: None, 1: struct.Struct("<q"), 2: struct.Struct("<d"), 3: struct.Struct("<q")}


def read_attributes(data):
    """Reads the id and the parameters of requests (protocol.h)."""
    at, found = 0, {}
    while at < len(data):
        kind, name, size = _entry.unpack_from(data, at)
        at += _entry.size
        text = bytes(data[at : at + name]).decode(errors="replace")
        value = bytes(data[at + name : at + name + size])
        at += name + size
        if kind == 0:
            found[text] = value.decode(errors="replace")
        else:
            (number,) = _parameter_kinds[kind].unpack(value)
            found[text] = number != 0 if kind == 3 else number
    return found.pop(ID, ""), found


def write_attributes(request_id, parameters):
    """The reverse of `read_attributes`."""
    attributes = []
    entries = dict(parameters or {})
    if request_id:
        entries[ID] = request_id
    for name, value in entries.items():
        if isinstance(value, bool):
            kind, data = 3, _parameter_kinds[3].pack(int(value))
        elif isinstance(value, int):
            kind, data = 1, _parameter_kinds[1].pack(value)
        elif isinstance(value, float):
            kind, data = 2, _parameter_kinds[2].pack(value)
        elif isinstance(value, str):
            kind, data = 0, value.encode()
        else:
            raise TritonModelException(
                "parameter '%s': expected a str, int, float or bool but got %s" % (name, type(value).__name__)
            )
        name = name.encode()
        attributes.append(_entry.pack(kind, len(name), len(data)) + name + data)
    return b"".join(attributes)


class Attributes:
    """Properties that the requests of a group share, besides their tensors."""

    __slots__ = ("id", "parameters", "priority", "timeout", "wanted", "counted", "rows")

    def __init__(self, id, parameters, priority, timeout, wanted, counted, rows):
        self.id, self.parameters, self.priority = id, parameters, priority
        self.timeout, self.wanted, self.counted, self.rows = timeout, wanted, counted, rows

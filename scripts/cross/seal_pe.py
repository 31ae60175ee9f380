"""Takes the times of the build off a library for Windows, and gives it an id that follows from its bytes: seal_pe.py <linked> <sealed> <pdb>

Zig's linker writes the time into the file, and an id of the symbols, which have paths and random names of the machine. The file with
the symbols gets the new id, by which debuggers find it.
"""

import hashlib
import struct
import sys
from pathlib import Path

CODE_VIEW = 2


def debug_directory(data, optional, sections):
    """The offset of the table of debug data, and its size."""
    address, size = struct.unpack_from("<2I", data, optional + 112 + 6 * 8)
    for at in sections:
        _, virtual_size, start, _, offset = struct.unpack_from("<8s4I", data, at)
        if start <= address < start + virtual_size:
            return offset + address - start, size
    raise ValueError("it has no debug directory")


def main(linked, sealed, symbols):
    data = bytearray(Path(linked).read_bytes())
    header = struct.unpack_from("<I", data, 0x3C)[0]
    if data[header : header + 4] != b"PE\0\0":
        raise ValueError("it is not a PE file")
    _, count, _, _, _, optional_size, _ = struct.unpack_from("<2H3I2H", data, header + 4)
    optional = header + 24
    if struct.unpack_from("<H", data, optional)[0] != 0x20B:
        raise ValueError("it is not of 64 bits")
    struct.pack_into("<I", data, header + 8, 0)
    at, size = debug_directory(data, optional, [optional + optional_size + 40 * i for i in range(count)])
    ids = []
    for entry in range(at, at + size, 28):
        struct.pack_into("<I", data, entry + 4, 0)
        kind, _, _, offset = struct.unpack_from("<4I", data, entry + 12)
        if kind == CODE_VIEW and data[offset : offset + 4] == b"RSDS":
            ids.append(offset + 4)
    if len(ids) != 1:
        raise ValueError(f"it has {len(ids)} ids of symbols")
    [place] = ids
    old = bytes(data[place : place + 16])
    data[place : place + 16] = bytes(16)
    own = hashlib.sha256(data).digest()[:16]
    data[place : place + 16] = own
    text = Path(symbols).read_bytes()
    if text.count(old) != 1 and text.count(own) != 1:
        raise ValueError(f"{symbols}: the id is in it {text.count(old)} times")
    Path(symbols).write_bytes(text.replace(old, own))
    Path(sealed).write_bytes(data)
    Path(sealed).chmod(0o755)
    print(own.hex())


main(*sys.argv[1:])

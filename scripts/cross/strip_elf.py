"""Takes the symbols and debug sections off an ELF library: strip_elf.py <linked> <stripped> [<debug file>]

Zig has a linker that leaves them out, but then it also links other code of its own, so that no debug file would fit. The build id
of the stripped file is the digest of its bytes, which no path of the machine changes. The debug file is the linked one with that id.
"""

import hashlib
import struct
import sys
from pathlib import Path

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM = struct.Struct("<IIQQQQQQ")
SECTION = struct.Struct("<IIQQQQIIQQ")
ALLOCATED = 2
NOTES = 7
STRINGS = 3
BUILD_ID = b"\x04\0\0\0\x14\0\0\0\x03\0\0\0GNU\0"


def sections_of(data, header):
    offset, size, count = header[6], header[11], header[12]
    return [SECTION.unpack_from(data, offset + i * size) for i in range(count)]


def strip(data):
    """The bytes without what is not loaded."""
    header = list(HEADER.unpack_from(data))
    if header[0][:6] != b"\x7fELF\x02\x01":
        raise ValueError("it is not an ELF file of 64 bits, little-endian")
    programs = [PROGRAM.unpack_from(data, header[5] + i * header[9]) for i in range(header[10])]
    end = max(program[2] + program[5] for program in programs)
    sections = sections_of(data, header)
    names = sections[header[13]]
    loaded = [section for section in sections[1:] if section[2] & ALLOCATED]
    # Symbols and sections refer to sections by their numbers, which stay only if the loaded ones are the first.
    if sections[1 : 1 + len(loaded)] != loaded:
        raise ValueError("a section that is not loaded is before one that is")
    text = b"\0"
    table = [sections[0]]
    for section in loaded:
        start = names[4] + section[0]
        table.append((len(text), *section[1:]))
        text += data[start : data.index(b"\0", start) + 1]
    name = len(text)
    text += b".shstrtab\0"
    table.append((name, STRINGS, 0, 0, end, len(text), 0, 0, 1, 0))
    body = bytearray(data[:end]) + text
    body += bytes(-len(body) % 8)
    header[6], header[12], header[13] = len(body), len(table), len(table) - 1
    HEADER.pack_into(body, 0, *header)
    for section in table:
        body += SECTION.pack(*section)
    return body


def build_id_at(data):
    header = HEADER.unpack_from(data)
    for section in sections_of(data, header):
        at = section[4]
        if section[1] == NOTES and data[at : at + len(BUILD_ID)] == BUILD_ID:
            return at + len(BUILD_ID)
    raise ValueError("it has no build id")


def main(linked, stripped, debug=None):
    data = bytearray(Path(linked).read_bytes())
    bare = strip(data)
    at = build_id_at(bare)
    bare[at : at + 20] = bytes(20)
    own = hashlib.sha1(bare).digest()
    bare[at : at + 20] = own
    Path(stripped).write_bytes(bare)
    Path(stripped).chmod(0o755)
    if debug is not None:
        at = build_id_at(data)
        data[at : at + 20] = own
        Path(debug).write_bytes(data)
    print(own.hex())


main(*sys.argv[1:])

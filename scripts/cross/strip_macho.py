"""Takes the local symbols and the debug map off a Mach-O library, and signs it anew: strip_macho.py <linked> <stripped>

Zig has a linker that leaves them out, but then it also links other code of its own, so that no debug file would fit. The UUID of the
stripped file is the digest of its bytes, which no path of the machine changes. The linked file gets the same one, as debug files
are made from it. The signature is an ad hoc one, as the linker's: Apple's processors run no file without it. For Intel's the linker
writes none, and macOS needs none.
"""

import hashlib
import struct
import sys
from pathlib import Path

HEADER = struct.Struct("<IIIIIIII")
COMMAND = struct.Struct("<II")
SEGMENT = struct.Struct("<II16sQQQQIIII")
SYMBOL = struct.Struct("<IBBHQ")
SYMTAB, DYSYMTAB, SEGMENT_64, UUID, SIGNATURE = 0x2, 0xB, 0x19, 0x1B, 0x1D
# An entry of the table of indirect symbols that names none: it is local, or absolute.
NO_SYMBOL = 0xC0000000
LOCAL = 0x80000000
SEGMENT_ALIGNMENT = 0x4000


def align(number, to):
    return -(-number // to) * to


def commands_of(data):
    """The offset of each load command, by its kind; segments by their names."""
    magic, _, _, _, count, _, _, _ = HEADER.unpack_from(data)
    if magic != 0xFEEDFACF:
        raise ValueError("it is not a Mach-O file of 64 bits")
    at = HEADER.size
    found = {}
    for _ in range(count):
        kind, size = COMMAND.unpack_from(data, at)
        name = data[at + 8 : at + 24].rstrip(b"\0").decode() if kind == SEGMENT_64 else kind
        found[name] = at
        at += size
    return found


def words(data, at, count):
    return list(struct.unpack_from(f"<{count}I", data, at))


def strip(data):
    """The bytes without local symbols and signature, and the places of the load commands."""
    commands = commands_of(data)
    symbols_at, count, names_at, names_size = words(data, commands[SYMTAB] + 8, 4)
    dynamic = words(data, commands[DYSYMTAB] + 8, 18)
    _, _, first_defined, defined, first_undefined, undefined = dynamic[:6]
    indirect_at, indirect_count = dynamic[12:14]
    if any(dynamic[6:12]) or any(dynamic[14:18]):
        raise ValueError("it has tables of a kind that is not known here")
    end = words(data, commands[SIGNATURE] + 8, 1)[0] if SIGNATURE in commands else len(data)
    if not symbols_at <= indirect_at <= names_at <= end:
        raise ValueError("its symbols are not last")
    kept = [*range(first_defined, first_defined + defined), *range(first_undefined, first_undefined + undefined)]
    place = {old: new for new, old in enumerate(kept)}
    table, names = b"", b"\0"
    for index in kept:
        name, *rest = SYMBOL.unpack_from(data, symbols_at + index * SYMBOL.size)
        start = names_at + name
        table += SYMBOL.pack(len(names), *rest)
        names += data[start : data.index(b"\0", start) + 1]
    indirect = [
        index if index & NO_SYMBOL else place.get(index, LOCAL) for index in words(data, indirect_at, indirect_count)
    ]
    body = bytearray(data[:symbols_at]) + table
    new_indirect_at = len(body)
    body += struct.pack(f"<{indirect_count}I", *indirect)
    new_names_at = len(body)
    names += bytes(-len(names) % 8)
    body += names
    body += bytes(-len(body) % 16)
    struct.pack_into("<4I", body, commands[SYMTAB] + 8, symbols_at, len(kept), new_names_at, len(names))
    struct.pack_into("<6I", body, commands[DYSYMTAB] + 8, 0, 0, 0, defined, defined, undefined)
    struct.pack_into("<I", body, commands[DYSYMTAB] + 8 + 12 * 4, new_indirect_at)
    return body, commands


def blobs_of(signature):
    """The parts of a signature: kind and bytes of each."""
    magic, _, count = struct.unpack_from(">3I", signature)
    if magic != 0xFADE0CC0:
        raise ValueError("it has no signature")
    places = [struct.unpack_from(">2I", signature, 12 + 8 * i) for i in range(count)]
    return [(kind, signature[at : at + struct.unpack_from(">I", signature, at + 4)[0]]) for kind, at in places]


def identify(body, commands, missing):
    """Writes the size of the last segment, with bytes that are still missing, and the UUID. Returns the latter."""
    segment = list(SEGMENT.unpack_from(body, commands["__LINKEDIT"]))
    segment[6] = len(body) + missing - segment[5]
    segment[4] = align(segment[6], SEGMENT_ALIGNMENT)
    SEGMENT.pack_into(body, commands["__LINKEDIT"], *segment)
    own = commands[UUID] + 8
    body[own : own + 16] = bytes(16)
    identity = bytearray(hashlib.sha256(body).digest()[:16])
    identity[6], identity[8] = identity[6] & 0x0F | 0x50, identity[8] & 0x3F | 0x80
    body[own : own + 16] = identity
    return bytes(identity)


def sign(body, commands, signature):
    """Appends a signature: the linker's, with the hashes of these bytes. Returns the UUID."""
    (kind, directory), *others = blobs_of(signature)
    hashes_at = struct.unpack_from(">I", directory, 16)[0]
    hash_size, hash_type, _, page_bits = struct.unpack_from(">4B", directory, 36)
    if (kind, hash_size, hash_type) != (0, 32, 2):
        raise ValueError("its signature does not begin with a directory of SHA-256")
    limit, page = len(body), 1 << page_bits
    directory = bytearray(directory[:hashes_at])
    length = hashes_at + len(range(0, limit, page)) * hash_size
    struct.pack_into(">I", directory, 4, length)
    struct.pack_into(">2I", directory, 28, len(range(0, limit, page)), limit)
    at = 12 + 8 * (1 + len(others))
    table = struct.pack(">2I", kind, at)
    at += length
    for other, blob in others:
        table += struct.pack(">2I", other, at)
        at += len(blob)
    # Of the load commands there are hashes, too, so they must be finished.
    struct.pack_into("<2I", body, commands[SIGNATURE] + 8, limit, align(at, 16))
    identity = identify(body, commands, align(at, 16))
    hashes = b"".join(hashlib.sha256(body[start : start + page]).digest() for start in range(0, limit, page))
    whole = struct.pack(">3I", 0xFADE0CC0, at, 1 + len(others)) + table + directory + hashes
    body += whole + b"".join(blob for _, blob in others)
    body += bytes(align(at, 16) - at)
    return identity


def main(linked, stripped):
    data = bytearray(Path(linked).read_bytes())
    body, commands = strip(data)
    if SIGNATURE in commands:
        at, size = words(data, commands[SIGNATURE] + 8, 2)
        identity = sign(body, commands, data[at : at + size])
    else:
        identity = identify(body, commands, 0)
    Path(stripped).write_bytes(body)
    Path(stripped).chmod(0o755)
    own = commands[UUID] + 8
    data[own : own + 16] = identity
    Path(linked).write_bytes(data)
    print(identity.hex())


main(*sys.argv[1:])

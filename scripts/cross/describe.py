"""Prints what a binary is and needs, as JSON: describe.py <file>…"""

import hashlib
import json
import struct
import sys
from pathlib import Path

import lief


def is_signed(binary, path):
    """Whether the hashes of a library's signature are those of its bytes, as macOS demands. None: it has no signature."""
    if not binary.has_code_signature:
        return None
    place = binary.code_signature
    data = Path(path).read_bytes()
    blob = data[place.data_offset : place.data_offset + place.data_size]
    magic, _, _, kind, at = struct.unpack_from(">5I", blob)
    if (magic, kind) != (0xFADE0CC0, 0):
        return False
    directory = blob[at:]
    hashes_at, _, _, count, limit = struct.unpack_from(">5I", directory, 16)
    page = 1 << directory[39]
    pages = [data[start : min(start + page, limit)] for start in range(0, limit, page)]
    hashes = b"".join(hashlib.sha256(one).digest() for one in pages)
    return limit == place.data_offset and count == len(pages) and directory[hashes_at:].startswith(hashes)


def describe(path):
    binary = lief.parse(path)
    if isinstance(binary, lief.MachO.FatBinary):
        raise ValueError(f"{path}: several architectures in one file")
    text = {
        "format": binary.format.__name__,
        "machine": binary.abstract.header.architecture.__name__,
        "needs": [
            getattr(library, "name", library)
            for library in binary.libraries
            # The name of a dynamic library of macOS itself is in the same list.
            if isinstance(library, str) or library.command != lief.MachO.LoadCommand.TYPE.ID_DYLIB
        ],
        "exports": sorted({symbol.name for symbol in binary.abstract.exported_functions}),
        "versions": [],
        "oldest": None,
        "signed": None,
        "local": 0,
    }
    if isinstance(binary, lief.ELF.Binary):
        exported = [symbol for symbol in binary.exported_symbols if symbol.name]
        text["exports"] = sorted({symbol.name for symbol in exported})
        text["versions"] = sorted(
            {one.name for need in binary.symbols_version_requirement for one in need.get_auxiliary_symbols()}
        )
    elif isinstance(binary, lief.MachO.Binary):
        text["oldest"] = ".".join(str(part) for part in binary.build_version.minos[:2])
        text["signed"] = is_signed(binary, path)
        text["local"] = binary.dynamic_symbol_command.nb_local_symbols
    return text


print(json.dumps([describe(path) for path in sys.argv[1:]]))

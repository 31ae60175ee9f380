"""Prints what a binary is and needs, as JSON: describe.py <file>…"""

import json
import sys

import lief


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
    }
    if isinstance(binary, lief.ELF.Binary):
        exported = [symbol for symbol in binary.exported_symbols if symbol.name]
        text["exports"] = sorted({symbol.name for symbol in exported})
        text["versions"] = sorted(
            {one.name for need in binary.symbols_version_requirement for one in need.get_auxiliary_symbols()}
        )
    elif isinstance(binary, lief.MachO.Binary):
        text["oldest"] = ".".join(str(part) for part in binary.build_version.minos[:2])
    return text


print(json.dumps([describe(path) for path in sys.argv[1:]]))

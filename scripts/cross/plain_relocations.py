"""Replaces packed relative relocations (DT_RELR) of ELF libraries for x64 by plain ones: plain_relocations.py <file>…

musl reads packed ones from version 1.2.4 on. Older ones ignore them, and the library ends the process.
"""

import sys

import lief

TAGS = lief.ELF.DynamicEntry.TAG


def unpack(path):
    library = lief.parse(path)
    for packed in [one for one in library.relocations if one.is_relatively_encoded]:
        plain = lief.ELF.Relocation(
            packed.address,
            lief.ELF.Relocation.TYPE.X86_64_RELATIVE,
            lief.ELF.Relocation.ENCODING.RELA,
        )
        word = bytes(library.get_content_from_virtual_address(packed.address, 8))
        plain.addend = int.from_bytes(word, "little")
        library.add_dynamic_relocation(plain)
    for tag in (TAGS.RELR, TAGS.RELRSZ, TAGS.RELRENT):
        if library.has(tag):
            library.remove(library[tag])
    library.write(path)


for file in sys.argv[1:]:
    unpack(file)

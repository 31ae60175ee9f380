"""Makes a debug file fit a published binary: match_debug.py <published> <unstripped> [<debug file>]

Both must be the same code: one was compiled with line tables. Throws if they are not. The debug file, by default the unstripped
one, gets the id of the published binary, by which debuggers find it. Prints the id.
"""

import sys
from pathlib import Path

import lief


def parts_of(path):
    """The id, and what is in memory from the file, by its address."""
    binary = lief.parse(str(path))
    note = next((one for one in binary.notes if one.type == lief.ELF.Note.TYPE.GNU_BUILD_ID), None)
    if note is None:
        raise ValueError("it has no build id")
    flags = lief.ELF.Section.FLAGS
    # Tables of symbols and of the strings of symbols are the linker's own, and the id is among the notes.
    kinds = (
        lief.ELF.Section.TYPE.PROGBITS,
        lief.ELF.Section.TYPE.INIT_ARRAY,
        lief.ELF.Section.TYPE.FINI_ARRAY,
    )
    parts = {
        (section.name, section.virtual_address): bytes(section.content)
        for section in binary.sections
        if section.has(flags.ALLOC) and section.type in kinds
    }
    return bytes(note.description), parts


def match(published, unstripped, debug):
    wanted, ours = parts_of(published)
    present, theirs = parts_of(unstripped)
    if not ours:
        raise ValueError(f"{published}: there is no code in it")
    other = [name for name in ours.keys() | theirs.keys() if ours.get(name) != theirs.get(name)]
    if other:
        raise ValueError(f"{unstripped} is not the code of {published}: {sorted(other)} differ")
    text = debug.read_bytes()
    if wanted != present:
        if text.count(present) != 1:
            raise ValueError(f"{debug}: its id {present.hex()} is in it {text.count(present)} times")
        debug.write_bytes(text.replace(present, wanted))
    print(wanted.hex())


files = [Path(name) for name in sys.argv[1:]]
match(files[0], files[1], files[-1])

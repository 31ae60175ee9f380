/** The symbol versions that an ELF file needs from other libraries: its section `.gnu.version_r`. */

const versionNeeds = 0x6fff_fffe;

/**
 * Names such as `GLIBC_2.17`, each once for each library that must have it. The file must be 64 bit and
 * little-endian.
 */
export function neededVersions(file: Buffer): string[] {
  const word = (at: number): number => Number(file.readBigUInt64LE(at));
  const sections = word(40);
  const size = file.readUInt16LE(58);
  const section = (index: number): number => sections + index * size;
  const names: string[] = [];
  for (let index = 0; index < file.readUInt16LE(60); index++) {
    const at = section(index);
    if (file.readUInt32LE(at + 4) !== versionNeeds) continue;
    const strings = word(section(file.readUInt32LE(at + 40)) + 24);
    const libraries = file.readUInt32LE(at + 44);
    let library = word(at + 24);
    for (let i = 0; i < libraries; i++) {
      let version = library + file.readUInt32LE(library + 8);
      for (let j = 0; j < file.readUInt16LE(library + 2); j++) {
        const start = strings + file.readUInt32LE(version + 8);
        names.push(file.toString('latin1', start, file.indexOf(0, start)));
        version += file.readUInt32LE(version + 12);
      }
      library += file.readUInt32LE(library + 12);
    }
  }
  return names;
}

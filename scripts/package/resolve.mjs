// Finds where an address of a published binary is in the source, by its debug file, as one does after a crash.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { whyMissing } from '../debian-package.mjs';

const run = (file, args, cwd) => execFileSync(file, args, { encoding: 'utf8', cwd, maxBuffer: 2 ** 28 });

/** The address of a function that a binary exports, by the system that it is for. */
const addresses = {
  linux: (file, name) =>
    new RegExp(`^([0-9a-f]+) T ${name}$`, 'm').exec(run('llvm-nm', ['--dynamic', file]))?.[1],
  darwin: (file, name) =>
    new RegExp(`^([0-9a-f]+) T _${name}$`, 'm').exec(run('llvm-nm', ['--extern-only', file]))?.[1],
  win32(file, name) {
    const text = run('llvm-readobj', ['--file-headers', '--coff-exports', file]);
    const base = /ImageBase: (0x[0-9A-F]+)/.exec(text)?.[1];
    const offset = new RegExp(`Name: ${name}\\s+RVA: (0x[0-9A-F]+)`).exec(text)?.[1];
    return base && offset ? (BigInt(base) + BigInt(offset)).toString(16) : undefined;
  },
};

/**
 * Finds the function that Node calls first, by its address in the published binary. Returns a line with the function, the file
 * and the line. Throws if that is not where the function is.
 *
 * @param folder - The platform's debug files.
 * @param published - The folder with the platform's files as they are published.
 */
export function resolveEntry(target, folder, published) {
  const why = whyMissing('llvm', ['llvm-symbolizer', 'llvm-readobj', 'llvm-nm']);
  if (why !== undefined) throw new Error(`debug files are read with LLVM's tools: ${why}`);
  const name = 'napi_register_module_v1';
  const file = join(published, 'tritonts.node');
  const [os] = target.split('-');
  const address = addresses[os](file, name);
  if (address === undefined) throw new Error(`${file} does not export ${name}`);
  const obj = {
    linux: join(folder, 'tritonts.node.debug'),
    darwin: join(folder, 'tritonts.node.dSYM', 'Contents', 'Resources', 'DWARF', 'tritonts.node'),
    // On Windows the symbols are found by the binary, which names them, from their folder.
    win32: file,
  }[os];
  const told = run('llvm-symbolizer', ['--no-inlines', `--obj=${obj}`, `0x${address}`], folder)
    .trim()
    .split('\n');
  const [found, place = ''] = told;
  if (found !== name || !/[\\/]?native[\\/]binding[\\/].*:[1-9]\d*:\d+$/.test(place))
    throw new Error(`0x${address} of ${file} is ${name}, and ${obj} says ${told.join(' ')}`);
  return `0x${address} is ${found} at ${place}`;
}

/** Finds the ONNX Runtime library that the `onnxruntime-node` package carries. */

import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { TritonError } from '../errors.js';
import type { BackendConfig } from '../options.js';

const fileName: Readonly<Partial<Record<NodeJS.Platform, RegExp>>> = {
  linux: /^libonnxruntime\.so(\.\d+)*$/,
  darwin: /^libonnxruntime(\.\d+)*\.dylib$/,
  win32: /^onnxruntime\.dll$/,
};

let found: string | undefined;

/**
 * Path of the library file that the options name, or else of the one that `onnxruntime-node` carries.
 *
 * @throws {TritonError} UNAVAILABLE as {@link findOnnxRuntimeLibrary}.
 */
export function onnxRuntimeLibrary(options: BackendConfig): string {
  return String(options['library'] ?? (found ??= findOnnxRuntimeLibrary()));
}

/**
 * The library that `onnxruntime-node` carries, where the options name another one. Linux knows libraries by the name in
 * them: unless this one is opened first, a later `require('onnxruntime-node')` gets the other one, and fails.
 */
export function libraryToOpenFirst(options: BackendConfig): string | undefined {
  if (process.platform !== 'linux' || options['library'] === undefined) return undefined;
  try {
    found ??= findOnnxRuntimeLibrary();
    return found;
  } catch {
    return undefined; // There is nobody to get in the way of.
  }
}

/** The folder of `onnxruntime-node`, seen from this package, then from the working directory. */
function packageFolder(): string | undefined {
  for (const from of [import.meta.url, join(process.cwd(), 'index.js')]) {
    try {
      let folder = dirname(createRequire(from).resolve('onnxruntime-node'));
      while (!existsSync(join(folder, 'package.json'))) {
        const parent = dirname(folder);
        if (parent === folder) return undefined;
        folder = parent;
      }
      return folder;
    } catch {
      // Not installed there.
    }
  }
  return undefined;
}

/**
 * Where a file really is: Electron shows what its packer left outside of an `app.asar` as if it were inside, to Node but
 * not to the system's loader of libraries.
 */
export function outsideOfArchive(file: string): string {
  const outside = file.replace(/\.asar(?=[\\/])/, '.asar.unpacked');
  return outside !== file && existsSync(outside) ? outside : file;
}

/**
 * Path of the library file.
 *
 * @throws {TritonError} UNAVAILABLE with what was looked for, where, and what to install.
 */
export function findOnnxRuntimeLibrary(): string {
  const help =
    "install it with 'npm install onnxruntime-node' (ONNXRUNTIME_NODE_INSTALL=skip keeps it from downloading CUDA " +
    'files), or name a library with backendConfig.onnxruntime.library';
  const folder = packageFolder();
  if (folder === undefined) {
    throw new TritonError(
      'UNAVAILABLE',
      `the package onnxruntime-node, which carries ONNX Runtime, was not found: ${help}`,
    );
  }
  const pattern = fileName[process.platform];
  const bin = join(folder, 'bin');
  const versions = existsSync(bin) ? readdirSync(bin).filter((name) => name.startsWith('napi-')) : [];
  for (const version of versions.sort().reverse()) {
    const place = join(bin, version, process.platform, process.arch);
    if (!pattern || !existsSync(place)) continue;
    const file = readdirSync(place)
      .filter((name) => pattern.test(name))
      .sort()[0];
    if (file !== undefined) return outsideOfArchive(join(place, file));
  }
  throw new TritonError(
    'UNAVAILABLE',
    `the package onnxruntime-node at ${folder} carries no ONNX Runtime for ${process.platform}-${process.arch}: ${help}`,
  );
}

/** Finds the ONNX Runtime library of the `onnxruntime-node` package. */

import { existsSync, readdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { outsideOfArchive } from '../../addon/archive.js';
import { describePlatform, target } from '../../addon/platform.js';
import { unavailable } from '../../errors.js';
import type { BackendConfig } from '../../options.js';

const fileName: Readonly<Partial<Record<NodeJS.Platform, RegExp>>> = {
  linux: /^libonnxruntime\.so(\.\d+)*$/,
  darwin: /^libonnxruntime(\.\d+)*\.dylib$/,
  win32: /^onnxruntime\.dll$/,
};

const help =
  "install it with 'npm install onnxruntime-node' (ONNXRUNTIME_NODE_INSTALL=skip keeps it from downloading CUDA " +
  'files), or name a library with backendConfig.onnxruntime.library';

let found: string | undefined;

/**
 * Path of the library that the options name; without that option, of the library in `onnxruntime-node`.
 *
 * @throws {@link TritonError} UNAVAILABLE as {@link findOnnxRuntimeLibrary}.
 */
export function onnxRuntimeLibrary(options: BackendConfig): string {
  return String(options['library'] ?? (found ??= findOnnxRuntimeLibrary()));
}

/**
 * The library of `onnxruntime-node`, if the options name another one. Linux identifies a library by the name
 * inside its file. If this library were not opened first, a later `require('onnxruntime-node')` would get the
 * other library, and fail.
 */
export function libraryToOpenFirst(options: BackendConfig): string | undefined {
  if (process.platform !== 'linux' || options['library'] === undefined) return undefined;
  try {
    found ??= findOnnxRuntimeLibrary();
    return found;
  } catch {
    return undefined; // Without the package nobody can require it.
  }
}

/** The folder of `onnxruntime-node`, as resolved from this package, or else from the working directory. */
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
      // The package is not installed there.
    }
  }
  return undefined;
}

/**
 * Path of the library file.
 *
 * @throws {@link TritonError} UNAVAILABLE; it says what was searched, where, and what to install.
 */
export function findOnnxRuntimeLibrary(): string {
  if (target().endsWith('-musl')) {
    throw unavailable(
      'MISSING',
      `onnxruntime-node carries no ONNX Runtime for musl, and this is ${describePlatform()}: use a system with glibc, ` +
        'such as the image node:22-slim, or name a library that was built for musl with ' +
        'backendConfig.onnxruntime.library',
    );
  }
  const folder = packageFolder();
  if (folder === undefined) {
    throw unavailable(
      'MISSING',
      `the package onnxruntime-node, which carries ONNX Runtime, was not found: ${help}`,
    );
  }
  return libraryIn(folder);
}

/** The system and processor whose library is looked for. */
interface System {
  readonly platform: NodeJS.Platform;
  readonly arch: string;
}

/**
 * Path of the library file in a folder of the package. Its versions have different folders, and none has libraries for all
 * platforms.
 *
 * @throws {@link TritonError} UNAVAILABLE if it has none for the system.
 */
export function libraryIn(folder: string, { platform, arch }: System = process): string {
  const pattern = fileName[platform];
  const bin = join(folder, 'bin');
  const versions = existsSync(bin) ? readdirSync(bin).filter((name) => name.startsWith('napi-')) : [];
  versions.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  for (const version of versions) {
    const place = join(bin, version, platform, arch);
    if (!pattern || !existsSync(place)) continue;
    const file = readdirSync(place)
      .filter((name) => pattern.test(name))
      .sort()[0];
    if (file !== undefined) return outsideOfArchive(join(place, file));
  }
  throw unavailable(
    'MISSING',
    `the package onnxruntime-node at ${folder} carries no ONNX Runtime for ${platform}-${arch}: ${help}`,
  );
}

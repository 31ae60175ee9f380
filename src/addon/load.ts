/** Finds and loads the addon, and says what to do when that fails. */

import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { TritonError } from '../errors.js';
import type { NativeAddon } from './native.js';

const require = createRequire(import.meta.url);
let loaded: NativeAddon | undefined;

// Each require is a literal, so that bundlers and asar packers see the files.
const places: readonly (readonly [path: string, load: () => unknown])[] = [
  ['build/Release/tritonts.node', (): unknown => require('../../../build/Release/tritonts.node')],
  ...(process.platform === 'linux' && process.arch === 'x64'
    ? ([
        [
          'prebuilds/linux-x64/tritonts.node',
          (): unknown => require('../../../prebuilds/linux-x64/tritonts.node'),
        ],
      ] as const)
    : []),
];

/**
 * The addon of this environment; loaded at first use, with an exit listener that lets running batches end.
 *
 * @throws {TritonError} UNAVAILABLE when no binary of the addon can be loaded, with each attempt's reason.
 */
export function addon(): NativeAddon {
  if (loaded) return loaded;
  const failures: string[] = [];
  const causes: unknown[] = [];
  // Another build of the addon: with faults to inject, or under a sanitizer. See docs/testing.md.
  const other = process.env['TRITONTS_ADDON'];
  const candidates =
    other === undefined || other === '' ? places : [[other, (): unknown => require(resolve(other))] as const];
  for (const [path, load] of candidates) {
    try {
      // The one place where the addon gets its type.
      loaded = load() as NativeAddon;
      // A worker's exit is not the process': its environment's cleanup hook sees to what is its own.
      if (process.getBuiltinModule('node:worker_threads').isMainThread) prepareAtExit(loaded);
      return loaded;
    } catch (error) {
      failures.push(
        `  ${path}: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`,
      );
      causes.push(error);
    }
  }
  const platform = `${process.platform}-${process.arch}, Node ${process.versions.node}`;
  throw new TritonError(
    'UNAVAILABLE',
    [
      `the native addon of tritonts could not be loaded on ${platform}. Tried:`,
      ...failures,
      'What helps:',
      '  1. on a platform without a prebuilt binary, build it: npm install --no-save cmake-js && npx cmake-js compile -d native -O build',
      '     (in the folder of the package; needs CMake 3.22 and a C++20 compiler)',
      '  2. in a bundle, keep *.node files outside (external); in Electron, unpack them from the asar archive',
    ].join('\n'),
    { cause: new AggregateError(causes) },
  );
}

/** Where the engines are that are told of the process' exit, for every copy of this module to find. */
const exitKey = Symbol.for('tritonts.exit');

/** Tells an engine of the process' exit, once, however often the package is loaded. */
function prepareAtExit(native: NativeAddon): void {
  // Only this function sets the property.
  const holder = process as { [exitKey]?: Map<number, NativeAddon> };
  const known = holder[exitKey];
  if (known) {
    if (!known.has(native.engineId())) known.set(native.engineId(), native);
    return;
  }
  const engines = new Map([[native.engineId(), native]]);
  Object.defineProperty(process, exitKey, { value: engines });
  process.on('exit', (code) => {
    for (const engine of engines.values()) engine.prepareExit(code);
  });
}

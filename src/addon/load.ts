/** Finds and loads the addon, or reports what to do if that fails. */

import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { outsideOfArchive } from './archive.js';
import { faultOf } from './binary.js';
import { errorCode, loadFailure, unsuitedNode, type Attempt } from './load-error.js';
import { noMemoryError } from './memory.js';
import type { NativeAddon } from './native/addon.js';
import { places, type Place } from './search-places.js';
import { target } from './platform.js';

const require = createRequire(import.meta.url);
let loaded: NativeAddon | undefined;
let loadedFile = '';
let spared = false;

/**
 * The addon of this environment. The first call loads it, and adds an exit listener that lets running batches
 * end.
 *
 * @throws {@link TritonError} UNAVAILABLE if no binary of the addon can be loaded. The message lists each place
 *   that was searched, with the reason.
 */
export function addon(): NativeAddon {
  if (loaded) return loaded;
  const unsuited = unsuitedNode(process.versions);
  if (unsuited) throw unsuited;
  // The variable names another build of the addon: with injected faults, or with a sanitizer. See
  // docs/testing.md.
  const other = process.env['TRITONTS_ADDON'] ?? '';
  const wanted = target();
  const candidates =
    other === '' ? places(wanted) : [{ name: 'TRITONTS_ADDON', resolve: (): string => resolve(other) }];
  const attempts: Attempt[] = [];
  for (const place of candidates) {
    const outcome = tryPlace(place);
    if (!('addon' in outcome)) {
      attempts.push(outcome);
      continue;
    }
    loaded = outcome.addon;
    loadedFile = outcome.file;
    loaded.onNoMemory(noMemoryError);
    // The exit of a worker does not end the process. The cleanup hook of the worker's environment closes its
    // servers.
    if (process.getBuiltinModule('node:worker_threads').isMainThread) prepareAtExit(loaded);
    return loaded;
  }
  throw loadFailure(wanted, attempts);
}

/**
 * The addon, for a question that a server with another engine answers without it: the first such server spares the addon. A
 * later {@link addon} loads it.
 *
 * @returns Undefined if it was spared and is not loaded.
 * @throws {@link TritonError} As {@link addon}.
 */
export function addonUnlessSpared(): NativeAddon | undefined {
  return spared ? loaded : addon();
}

/**
 * The addon, for something that is only less well done without it: it is loaded even if a server with another engine has spared it.
 *
 * @returns Undefined if it was spared, and cannot be loaded.
 * @throws {@link TritonError} As {@link addon}, if it was not spared.
 */
export function addonIfAny(): NativeAddon | undefined {
  try {
    return addon();
  } catch (error) {
    if (spared) return undefined;
    throw error;
  }
}

/** A server with another engine is created: the addon is loaded only if something needs it. */
export function spareAddon(): void {
  spared = true;
}

/**
 * Loads the addon if a server with another engine has spared it: a server with the addon's engine is created.
 *
 * @throws {@link TritonError} As {@link addon}.
 */
export function loadSpared(): void {
  if (spared) addon();
}

/**
 * The path of the addon's file, beside which its other files lie; of an app of Electron, outside of its archive.
 *
 * @throws {@link TritonError} As {@link addon}.
 */
export function addonFile(): string {
  addon();
  return outsideOfArchive(loadedFile);
}

function tryPlace({
  name,
  resolve: find,
}: Place): { readonly addon: NativeAddon; readonly file: string } | Attempt {
  let file: string | undefined;
  try {
    file = find();
    const fault = faultOf(file);
    if (fault !== undefined) return { name, file, kind: 'damaged', reason: fault, cause: new Error(fault) };
    // Only here is the addon given its type.
    return { addon: require(file) as NativeAddon, file };
  } catch (cause) {
    const code = errorCode(cause);
    if (code === 'MODULE_NOT_FOUND' || code === 'ENOENT')
      return { name, file, kind: 'absent', reason: 'not found', cause };
    const reason = cause instanceof Error ? (cause.message.split('\n')[0] ?? '') : String(cause);
    return { name, file, kind: 'refused', reason, cause };
  }
}

/**
 * The process property that holds the engines to notify when the process exits. All copies of this module share
 * it.
 */
const exitKey = Symbol.for('tritonts.exit');

/** Has an engine notified when the process exits: once, even if the package is loaded several times. */
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

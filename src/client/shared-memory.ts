/**
 * Tensors in shared memory of the server's machine: how programs name them, and how requests do. This process need not map the
 * memory.
 */

import { types } from 'node:util';
import { checkKeys, checkObject, expected, show } from '../argument-checks.js';
import { TritonError } from '../errors.js';
import { isKeyed } from '../keyless.js';
import type { Datatype } from '../tensor/datatype.js';
import type { TensorInput } from '../tensor/inputs.js';
import { RegionTensor } from '../tensor/region-tensor.js';
import type { TypedArray } from '../tensor/types.js';
import type { RegionOptions, RegionStatus } from '../server/memory/shared-memory.js';
import type { TensorSpec } from '../tensor/plan.js';
import type { RegionCalls, WireRange } from './regions.js';

/** A range of a region that is registered with the server. */
export interface SharedMemoryRange {
  /** The name under which the region is registered. */
  readonly region: string;
  /** Where the tensor begins in the region, in bytes (default 0). */
  readonly offset?: number | undefined;
  /** The size in bytes: of an input exactly its own, of an output at least. */
  readonly byteSize: number;
}

/**
 * An input that the server reads from shared memory. The bytes are in wire layout: numbers in little-endian order; of each text
 * its length as 4 bytes, and its bytes.
 */
export interface SharedMemoryInput {
  readonly sharedMemory: SharedMemoryRange;
  /** The whole shape, with the batch dimension if the model has one. */
  readonly shape: readonly number[];
}

/** A place in shared memory that the server writes an output to. */
export interface SharedMemoryTarget {
  readonly sharedMemory: SharedMemoryRange;
}

/** An output that the server has written to shared memory, in wire layout. Its size follows from both. */
export interface SharedMemoryOutput {
  readonly datatype: Datatype;
  readonly shape: readonly number[];
}

/** The inputs of a remote request by name: values, or places in shared memory. */
export type RemoteInputs = Readonly<Record<string, TensorInput | SharedMemoryInput | undefined>>;

/** Where outputs of a remote request go, by name: into arrays of this process, or to shared memory. */
export type RemoteInto = Readonly<Record<string, TypedArray | SharedMemoryTarget | undefined>>;

/**
 * The shared memory of a server: {@link RemoteServer.sharedMemory}. The server must allow it (`--allow-client-shm=true`), and run on
 * the machine that has the memory.
 *
 * @example
 * await server.sharedMemory.register('frames', { key: '/frames', byteSize: 4 * 640 * 480 });
 * const frame = { sharedMemory: { region: 'frames', byteSize: 4 * 640 * 480 }, shape: [1, 640, 480] };
 * await server.infer('detector', { frame });
 * await server.sharedMemory.unregister('frames');
 */
export interface RemoteSharedMemory {
  /**
   * Registers shared memory, so that requests can name it. It stays registered when the connection ends.
   *
   * @param name - Of the region, for requests.
   * @param options - The memory, and what of it becomes the region.
   * @throws {@link TritonError} INVALID_ARG for memory that the server cannot open or that is smaller (Triton: INTERNAL for the
   *   former); ALREADY_EXISTS for a name that is in use, over HTTP INVALID_ARG; UNSUPPORTED if the server does not allow it.
   */
  register(name: string, options: RegionOptions): Promise<void>;
  /**
   * Unregisters a region. Requests in flight keep it. A region that does not exist is no error.
   *
   * @throws {@link TritonError} UNSUPPORTED if the server does not allow it.
   */
  unregister(name: string): Promise<void>;
  /** All regions that are registered with the server, also those of other clients. */
  regions(): Promise<RegionStatus[]>;
}

/** See {@link RemoteSharedMemory}. */
export class SharedMemoryOfServer implements RemoteSharedMemory {
  readonly #protocol: RegionCalls;

  constructor(protocol: RegionCalls) {
    this.#protocol = protocol;
  }

  async register(name: string, options: RegionOptions): Promise<void> {
    checkRegionName(name, 'name');
    checkObject(options, 'region options');
    checkKeys(options, ['key', 'offset', 'byteSize'], 'region options');
    const { key, offset, byteSize }: { readonly [K in keyof RegionOptions]?: unknown } = options;
    if (typeof key !== 'string') throw expected('a string', 'options.key', key);
    const range = {
      offset: sizeOf(offset ?? 0, 'options.offset'),
      size: sizeOf(byteSize, 'options.byteSize'),
    };
    await this.#protocol.registerRegion(name, key, range.offset, range.size);
  }

  async unregister(name: string): Promise<void> {
    // Without a name the protocols unregister all regions, also those of others.
    checkRegionName(name, 'name');
    await this.#protocol.unregisterRegion(name);
  }

  regions(): Promise<RegionStatus[]> {
    return this.#protocol.regions();
  }
}

function checkRegionName(value: unknown, what: string): asserts value is string {
  if (typeof value !== 'string' || value === '') throw expected('a non-empty string', what, value);
}

function sizeOf(value: unknown, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw expected('an integer of at least 0', what, value);
}

/** Whether the value names a place in shared memory. It is not checked. A proxy could say anything, and does not. */
export function isShared(value: unknown): value is SharedMemoryTarget {
  return (
    typeof value === 'object' &&
    value !== null &&
    !ArrayBuffer.isView(value) &&
    !types.isProxy(value) &&
    Object.hasOwn(value, 'sharedMemory')
  );
}

/**
 * Reads a place in shared memory.
 *
 * @param path - What is read, for errors.
 * @throws {@link TritonError} INVALID_ARG for wrong values.
 */
function readRange(model: string, tensor: string, path: string, given: unknown): WireRange {
  const fail = (what: string, of: string, value: unknown): TritonError =>
    new TritonError(
      'INVALID_ARG',
      `model '${model}': expected ${what} for ${path}${of} but received ${show(value)}`,
      {
        model,
        tensor,
      },
    );
  if (!isKeyed(given)) throw fail('{ region, offset, byteSize }', '', given);
  checkKeys(given, ['region', 'offset', 'byteSize'], path);
  const { region, offset, byteSize }: { readonly [K in keyof SharedMemoryRange]?: unknown } = given;
  const at = offset ?? 0;
  if (typeof region !== 'string' || region === '') throw fail('a non-empty string', '.region', region);
  if (typeof at !== 'number' || !Number.isSafeInteger(at) || at < 0)
    throw fail('an integer of at least 0', '.offset', offset);
  if (typeof byteSize !== 'number' || !Number.isSafeInteger(byteSize) || byteSize < 0)
    throw fail('an integer of at least 0', '.byteSize', byteSize);
  return { region, offset: at, byteSize };
}

/** Inputs for the encoder, and the places of those that are in shared memory. */
export interface SplitInputs {
  readonly inputs: Readonly<Record<string, TensorInput | undefined>>;
  /** By the number that stands for the region in the encoder's ranges. */
  readonly ranges: readonly WireRange[];
}

/**
 * Replaces inputs in shared memory by tensors whose shapes the encoder checks.
 *
 * @param specs - The model's inputs.
 * @throws {@link TritonError} INVALID_ARG for wrong places.
 */
export function splitInputs(model: string, specs: readonly TensorSpec[], given: RemoteInputs): SplitInputs {
  // The encoder refuses what is not an object.
  const passed: unknown = given;
  const isPlain = typeof passed === 'object' && passed !== null && !types.isProxy(passed);
  const values: Readonly<Record<string, unknown>> = isPlain ? given : {};
  const shared = specs.flatMap(({ name, datatype }) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return isShared(value) ? [{ name, datatype, value }] : [];
  });
  // Those that are left are values.
  if (shared.length === 0) return { inputs: given as SplitInputs['inputs'], ranges: [] };
  const ranges: WireRange[] = [];
  const inputs: Record<string, unknown> = { ...values };
  for (const { name, datatype, value } of shared) {
    checkKeys(value, ['sharedMemory', 'shape'], `inputs.${name}`);
    const { sharedMemory, shape }: { readonly [K in keyof SharedMemoryInput]?: unknown } = value;
    const range = readRange(model, name, `inputs.${name}.sharedMemory`, sharedMemory);
    // The encoder checks the shape.
    inputs[name] = new RegionTensor(datatype, shape as readonly number[], {
      ...range,
      region: ranges.length,
    });
    ranges.push(range);
  }
  return { inputs: inputs as SplitInputs['inputs'], ranges };
}

/** The option `into`: arrays, and places in shared memory. */
export interface SplitInto {
  readonly arrays: Readonly<Record<string, TypedArray | undefined>>;
  readonly places: ReadonlyMap<string, WireRange>;
}

/**
 * Splits the option `into`.
 *
 * @throws {@link TritonError} INVALID_ARG for wrong places.
 */
export function splitInto(model: string, into: RemoteInto): SplitInto {
  const places = new Map<string, WireRange>();
  const arrays: [string, TypedArray | undefined][] = [];
  for (const [name, target] of Object.entries(into)) {
    if (!isShared(target)) {
      arrays.push([name, target]);
      continue;
    }
    checkKeys(target, ['sharedMemory'], `options.into.${name}`);
    places.set(name, readRange(model, name, `options.into.${name}.sharedMemory`, target.sharedMemory));
  }
  return { arrays: Object.fromEntries(arrays), places };
}

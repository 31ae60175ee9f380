/** Regions of shared memory: registered ones of other processes, and the program's own. */

import { closeSync, ftruncateSync, lstatSync, openSync, unlinkSync } from 'node:fs';
import { checkKeys, checkObject, expected, show } from '../../argument-checks.js';
import { statusError } from '../../addon/status.js';
import type { NativeRegion, NativeServer } from '../../addon/native/server.js';
import { invalidArgument, TritonError } from '../../errors.js';
import type { EngineConnection } from '../../dispatch/engine-connection.js';
import { printableLine } from '../../printable.js';
import { maxTensorBytes } from '../../tensor/max-bytes.js';
import { forgetMapped, noteMapped } from '../../tensor/region-arrays.js';
import { thrownText } from '../../thrown-text.js';
import { CudaMemory, type CudaRegionOptions, type CudaRegionStatus } from './cuda-memory.js';

/** Where shared memory lies on Linux: the name of an object of `shm_open` is a file here. */
const folder = '/dev/shm/';
/** The longest name of a file. */
const longestKey = 255;
/** Triton's own prefix for the memory of its Python backend. */
const reservedPrefix = 'triton_python_backend_shm_region_';

/** The two kinds of shared memory, the host's and GPUs', which share one space of names. */
export type MemoryKind = 'system' | 'cuda';

/** What of a shared memory becomes a region. Triton: the body of `systemsharedmemory/region/…/register`. */
export interface RegionOptions {
  /** The name of the shared memory, as for `shm_open`; leading slashes do not count. */
  readonly key: string;
  /** Where the region begins in the memory, in bytes (default 0). */
  readonly offset?: number | undefined;
  /** The size of the region in bytes. */
  readonly byteSize: number;
}

/** A registered region. Triton: an entry of `systemsharedmemory/status`. */
export interface RegionStatus {
  readonly name: string;
  readonly key: string;
  readonly offset: number;
  readonly byteSize: number;
}

/**
 * A region that the program made.
 *
 * @example
 * const region = server.sharedMemory.create('frames', 4 * 640 * 480);
 * const frame = new Float32Array(region.buffer);
 * await server.infer('detector', { frame }); // Nothing is copied.
 */
export interface SharedRegion extends Disposable {
  readonly name: string;
  /** The name under which other processes open the memory. */
  readonly key: string;
  readonly byteSize: number;
  /**
   * The memory. Typed arrays over it are inputs without a copy, and arrays of `into` get outputs without a copy.
   * Datatypes whose values a model uses as indices or lengths are copied once. Like any shared memory, it must not
   * change while a request that names it runs.
   */
  readonly buffer: ArrayBuffer;
  /** Unregisters the region and removes its name. The bytes stay as long as `buffer` is used. Idempotent. */
  unregister(): void;
}

/** The shared memory of one server: {@link InferenceServer.sharedMemory}. */
export interface SharedMemory {
  /**
   * Makes shared memory and registers it. Other processes open it by its key: Python by
   * `multiprocessing.shared_memory.SharedMemory(name)`, C by `shm_open`. It is gone when it is unregistered, when the
   * server closes, and when the process exits.
   *
   * @param name - Of the region, and of the memory.
   * @param byteSize - The number of bytes, which are zeros at first. They are allocated at once.
   * @throws {@link TritonError} INVALID_ARG for a wrong name or size, and if `/dev/shm` has no room; ALREADY_EXISTS for a
   *   name that is in use; UNAVAILABLE if the file cannot be made; UNSUPPORTED where there is no `/dev/shm` (not
   *   Linux), and in runtimes without ArrayBuffers over foreign memory (Electron).
   */
  create(name: string, byteSize: number): SharedRegion;
  /**
   * Registers shared memory of another process, so that requests of clients can name it.
   *
   * @throws {@link TritonError} INVALID_ARG for memory that cannot be registered, ALREADY_EXISTS for a name that is in
   *   use, UNSUPPORTED where there is no `/dev/shm` (not Linux).
   */
  register(name: string, options: RegionOptions): void;
  /**
   * Registers memory of a GPU that another process has allocated, so that requests of clients can name it. The GPU is
   * opened if no model has, and stays open until the last of its regions is gone.
   *
   * @throws {@link TritonError} INVALID_ARG for wrong options, without a GPU, and for a handle that the driver
   *   refuses or whose memory is smaller; ALREADY_EXISTS for a name that is in use; UNAVAILABLE with DEVICE_LOST.
   */
  registerCuda(name: string, options: CudaRegionOptions): Promise<void>;
  /** Unregisters a region. Requests in flight keep it. Returns false if there is no such region. */
  unregister(name: string): boolean;
  /** All regions of the host. One that was unregistered is listed until the last request that uses it has ended. */
  regions(): RegionStatus[];
  /** All regions of GPUs, likewise. */
  cudaRegions(): CudaRegionStatus[];
}

/** The name of the file of a key; undefined: there can be none. */
function fileOf(key: string): string | undefined {
  const name = key.replace(/^\/+/, '');
  const wrong = name === '' || name === '.' || name === '..' || /[/\0]/.test(name);
  return wrong || Buffer.byteLength(name) > longestKey ? undefined : name;
}

function checkSystem(): void {
  if (process.platform === 'linux') return;
  throw new TritonError('UNSUPPORTED', `shared memory is for Linux, and this is ${process.platform}`);
}

function checkName(name: unknown): asserts name is string {
  if (typeof name !== 'string' || name === '') throw expected('a non-empty string', 'name', name);
}

function checkSize(value: unknown, what: string, least: number): asserts value is number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least) return;
  throw expected(`an integer of at least ${least}`, what, value);
}

/** The size of the file of a shared memory; undefined: it cannot be opened. */
function sizeOf(path: string): number | undefined {
  try {
    // Another user may have made a link that leads elsewhere.
    const found = lstatSync(path);
    return found.isFile() ? found.size : undefined;
  } catch {
    return undefined;
  }
}

function removeFile(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // Somebody else has removed it.
  }
}

/** The regions of servers, for their endpoints. */
const ofServers = new WeakMap<object, ServerRegions>();

/** The regions of a server; undefined for an object that is no server. */
export function regionsOf(server: object): ServerRegions | undefined {
  return ofServers.get(server);
}

/** The only implementation of {@link SharedMemory}. */
export class ServerRegions implements SharedMemory {
  readonly #native: NativeServer;
  readonly #connection: Pick<EngineConnection, 'flush'>;
  readonly #own: Map<string, OwnRegion> = new Map();
  /** Copies to and from GPUs. */
  readonly cuda: CudaMemory;

  /**
   * @param server - Whose regions they are, for {@link regionsOf}.
   * @param connection - Sends the requests of this environment, which may use regions.
   */
  constructor(server: object, native: NativeServer, connection: Pick<EngineConnection, 'flush'>) {
    this.#native = native;
    this.#connection = connection;
    this.cuda = new CudaMemory(native);
    ofServers.set(server, this);
  }

  create(name: string, byteSize: number): SharedRegion {
    checkName(name);
    checkSize(byteSize, 'byteSize', 1);
    if (byteSize > maxTensorBytes)
      throw expected(`at most ${maxTensorBytes} bytes (4 GiB)`, 'byteSize', byteSize);
    checkSystem();
    const file = this.#fileOf(name, name);
    const path = folder + file;
    let descriptor: number;
    try {
      descriptor = openSync(path, 'wx+', 0o600);
    } catch (error) {
      const exists = error instanceof Error && 'code' in error && error.code === 'EEXIST';
      const text = exists ? `the shared memory '/${file}' exists already` : thrownText(error);
      const code = exists ? 'ALREADY_EXISTS' : 'UNAVAILABLE';
      throw new TritonError(code, `shared memory region '${name}': ${text}`, { cause: error });
    }
    try {
      try {
        ftruncateSync(descriptor, byteSize);
      } finally {
        closeSync(descriptor);
      }
      const region = this.#register(name, path, 0, byteSize, `/${file}`, true);
      const buffer = this.#native.mapRegion(region);
      if (buffer === undefined) {
        this.#native.unregisterRegion(region);
        const text = `this runtime has no ArrayBuffer over ${byteSize} bytes of foreign memory`;
        throw new TritonError('UNSUPPORTED', `shared memory region '${name}': ${text}`);
      }
      noteMapped(buffer, { server: this.#connection, region });
      const own = new OwnRegion(region, name, `/${file}`, buffer, () => {
        this.#own.delete(name);
        this.#unregister(region);
        forgetMapped(buffer);
      });
      this.#own.set(name, own);
      return own;
    } catch (error) {
      removeFile(path);
      throw error;
    }
  }

  register(name: string, options: RegionOptions): void {
    checkName(name);
    checkObject(options, 'region options');
    checkKeys(options, ['key', 'offset', 'byteSize'], 'region options');
    const { key, byteSize }: { readonly [K in keyof RegionOptions]?: unknown } = options;
    const offset: unknown = options.offset ?? 0;
    if (typeof key !== 'string') throw expected('a string', 'options.key', key);
    checkSize(offset, 'options.offset', 0);
    checkSize(byteSize, 'options.byteSize', 0);
    checkSystem();
    const path = folder + this.#fileOf(name, key);
    const shown = printableLine(name);
    const size = sizeOf(path);
    if (size === undefined) {
      throw invalidArgument(
        `Unable to open shared memory region: '${printableLine(key)}': there is no file '${printableLine(path)}'`,
      );
    }
    if (byteSize === 0 || offset > size || byteSize > size - offset) {
      throw invalidArgument(
        `failed to register shared memory region '${shown}': invalid args: '${printableLine(key)}' has ${size} bytes, and so not ${byteSize} at offset ${offset}`,
      );
    }
    this.#register(name, path, offset, byteSize, key, false);
  }

  async registerCuda(name: string, options: CudaRegionOptions): Promise<void> {
    checkName(name);
    await this.cuda.register(name, options);
  }

  unregister(name: string): boolean {
    checkName(name);
    const found = this.#native.findRegion(name);
    const own = this.#own.get(name);
    own?.unregister();
    if (found === undefined) return false;
    // Another thread may have unregistered the own one, and made a new one of this name.
    return own?.region === found.id || this.#unregister(found.id);
  }

  regions(): RegionStatus[] {
    return this.#native
      .regions()
      .filter(({ device }) => device === undefined)
      .map(({ name, key, offset, byteSize }) => Object.freeze({ name, key, offset, byteSize }));
  }

  cudaRegions(): CudaRegionStatus[] {
    return this.#native
      .regions()
      .flatMap(({ name, device: deviceId, byteSize }) =>
        deviceId === undefined ? [] : [Object.freeze({ name, deviceId, byteSize })],
      );
  }

  /**
   * Unregisters what clients may: all but the program's own regions.
   *
   * @param kind - Regions of the other kind stay.
   * @param name - Undefined: all of them.
   */
  unregisterForClients(kind: MemoryKind, name: string | undefined): void {
    const found = name === undefined ? this.#native.regions() : [this.#native.findRegion(name)];
    for (const region of found) {
      if (region === undefined || region.id === 0 || region.own) continue;
      if ((kind === 'cuda') === (region.device !== undefined)) this.#unregister(region.id);
    }
  }

  /** A registered region; undefined: there is none of this name. */
  find(name: string): Pick<NativeRegion, 'id' | 'byteSize' | 'device'> | undefined {
    return this.#native.findRegion(name);
  }

  /** Ends the program's own regions. */
  close(): void {
    for (const own of [...this.#own.values()]) own.unregister();
  }

  #unregister(region: number): boolean {
    // The requests of this tick may use it.
    this.#connection.flush();
    return this.#native.unregisterRegion(region);
  }

  /** @throws {@link TritonError} INVALID_ARG for a key that no shared memory can have, or that Triton reserves. */
  #fileOf(name: string, key: string): string {
    const file = fileOf(key);
    const about = `cannot register shared memory region '${printableLine(name)}'`;
    if (file === undefined) throw invalidArgument(`${about} - invalid shm key ${show(key)}`);
    if (!file.startsWith(reservedPrefix)) return file;
    throw invalidArgument(
      `${about} with key '${printableLine(key)}' as the key contains the reserved prefix '${reservedPrefix}'`,
    );
  }

  #register(name: string, path: string, offset: number, byteSize: number, key: string, own: boolean): number {
    const region = this.#native.registerRegion(name, path, offset, byteSize, key, own);
    if (typeof region === 'number') return region;
    throw statusError(region, {});
  }
}

class OwnRegion implements SharedRegion {
  /** The engine's id. */
  readonly region: number;
  readonly name: string;
  readonly key: string;
  readonly byteSize: number;
  readonly buffer: ArrayBuffer;
  #end: (() => void) | undefined;

  constructor(region: number, name: string, key: string, buffer: ArrayBuffer, end: () => void) {
    this.region = region;
    this.name = name;
    this.key = key;
    this.byteSize = buffer.byteLength;
    this.buffer = buffer;
    this.#end = end;
  }

  unregister(): void {
    const end = this.#end;
    this.#end = undefined;
    end?.();
  }

  [Symbol.dispose](): void {
    this.unregister();
  }
}

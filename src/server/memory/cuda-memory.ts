/** Regions of GPUs' memory, which other processes share by handles of NVIDIA's driver. */

import { checkKeys, checkObject, expected } from '../../argument-checks.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { NativeStatus } from '../../addon/native/status.js';
import { statusError } from '../../addon/status.js';
import { invalidArgument, TritonError } from '../../errors.js';
import { printableLine } from '../../printable.js';
import type { RegionRange } from '../../tensor/region-tensor.js';

/** The size of a `cudaIpcMemHandle_t`. */
export const handleBytes = 64;

/** Which memory of a GPU becomes a region. Triton: the body of `cudasharedmemory/region/…/register`. */
export interface CudaRegionOptions {
  /**
   * What CUDA's IpcGetMemHandle returned in the process that allocated the memory: 64 bytes. The driver cannot open memory
   * of this process itself.
   */
  readonly handle: Uint8Array;
  /** The GPU, as this process counts them (`npx tritonts backends` lists them). */
  readonly deviceId: number;
  /** The size of the region in bytes, which begins where the memory does. */
  readonly byteSize: number;
}

/** A registered region of a GPU. Triton: an entry of `cudasharedmemory/status`. */
export interface CudaRegionStatus {
  readonly name: string;
  readonly deviceId: number;
  readonly byteSize: number;
}

/** A promise of what the engine tells on another thread. */
function told<T>(begin: (done: (error: NativeStatus | null, value: T) => void) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    begin((error, value) => {
      if (error === null) resolve(value);
      else reject(statusError(error, {}));
    });
  });
}

/** What concerns GPUs in the shared memory of one server. */
export class CudaMemory {
  readonly #native: NativeServer;

  constructor(native: NativeServer) {
    this.#native = native;
  }

  /** See {@link SharedMemory.registerCuda}. */
  async register(name: string, options: CudaRegionOptions): Promise<void> {
    checkObject(options, 'region options');
    checkKeys(options, ['handle', 'deviceId', 'byteSize'], 'region options');
    const { handle, deviceId, byteSize }: { readonly [K in keyof CudaRegionOptions]?: unknown } = options;
    if (!(handle instanceof Uint8Array)) throw expected('a Uint8Array', 'options.handle', handle);
    if (handle.length !== handleBytes)
      throw invalidArgument(
        `expected ${handleBytes} bytes for options.handle but received ${handle.length} bytes`,
      );
    if (typeof deviceId !== 'number' || !Number.isInteger(deviceId) || Math.abs(deviceId) > 2 ** 31 - 1)
      throw expected('the id of a GPU', 'options.deviceId', deviceId);
    if (typeof byteSize !== 'number' || !Number.isSafeInteger(byteSize) || byteSize < 1)
      throw expected('an integer of at least 1', 'options.byteSize', byteSize);
    const shown = printableLine(name);
    const error = await new Promise<NativeStatus | null>((resolve) => {
      this.#native.registerCudaRegion(name, handle, deviceId, byteSize, resolve);
    });
    if (error === null) return;
    const made = statusError(error, {});
    if (made.code === 'UNSUPPORTED') {
      throw invalidArgument(`failed to register CUDA shared memory region: '${shown}', GPUs not supported`, {
        cause: made,
      });
    }
    // It names the region.
    if (made.code === 'ALREADY_EXISTS') throw made;
    const args = made.code === 'INVALID_ARG' ? 'invalid args: ' : '';
    throw new TritonError(
      made.code,
      `failed to register shared memory region: ${args}'${shown}': ${made.message}`,
      { cause: made, reason: made.reason },
    );
  }

  /** Keeps a region as {@link NativeServer.holdRegion} does. Returns a function that gives it back. */
  hold({ region }: RegionRange): () => void {
    if (!this.#native.holdRegion(region))
      throw new TritonError('NOT_FOUND', 'the shared memory region was unregistered');
    return () => {
      this.#native.releaseRegion(region);
    };
  }

  /** A copy of bytes of a region. */
  fetch({ region, offset, byteSize }: RegionRange): Promise<Uint8Array<ArrayBuffer>> {
    return told((done) => {
      this.#native.readRegion(region, offset, byteSize, done);
    });
  }

  /** Copies bytes to the beginning of a range of a region, which has room for them. */
  store({ region, offset }: RegionRange, bytes: Uint8Array): Promise<void> {
    return told((done) => {
      this.#native.writeRegion(region, offset, bytes, (error) => {
        done(error, undefined);
      });
    });
  }
}

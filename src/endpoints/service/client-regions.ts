/**
 * Shared memory as clients register and name it. The messages are Triton's. Two codes are not: a key that cannot be
 * opened and an output that is too large for its range are INVALID_ARG, because the client is wrong.
 */

import { invalidArgument, TritonError } from '../../errors.js';
import { printableLine } from '../../printable.js';
import {
  handleBytes,
  type CudaMemory,
  type CudaRegionOptions,
  type CudaRegionStatus,
} from '../../server/memory/cuda-memory.js';
import {
  regionsOf,
  type MemoryKind,
  type RegionOptions,
  type RegionStatus,
  type ServerRegions,
} from '../../server/memory/shared-memory.js';
import type { Datatype } from '../../tensor/datatype.js';
import { RegionTensor, type RegionRange } from '../../tensor/region-tensor.js';
import { checkByteSize } from './tensors.js';

/** Names a range of a region. */
export interface NamedRange {
  readonly region: string;
  readonly offset: number;
  readonly byteSize: number;
}

function notFound(message: string): TritonError {
  return new TritonError('NOT_FOUND', message);
}

/** See the head of this file. Each service has one. */
export class ClientRegions {
  readonly #regions: ServerRegions | undefined;
  readonly #allowed: boolean;

  /** @param allowed - Whether clients may use shared memory. */
  constructor(server: object, allowed: boolean) {
    this.#regions = regionsOf(server);
    this.#allowed = allowed;
  }

  /**
   * The regions of the host.
   *
   * @param name - Undefined: all of them.
   * @throws {@link TritonError} NOT_FOUND for an unknown name, and for the name of a region of a GPU.
   */
  systemStatus(name: string | undefined): readonly RegionStatus[] {
    return this.#named('system', this.#all?.regions() ?? [], name);
  }

  /** The regions of GPUs, as {@link systemStatus}. */
  cudaStatus(name: string | undefined): readonly CudaRegionStatus[] {
    return this.#named('cuda', this.#all?.cudaRegions() ?? [], name);
  }

  /** Copies to and from GPUs; undefined if clients may not use shared memory. */
  get cuda(): CudaMemory | undefined {
    return this.#all?.cuda;
  }

  get #all(): ServerRegions | undefined {
    return this.#allowed ? this.#regions : undefined;
  }

  #named<T extends { readonly name: string }>(
    kind: MemoryKind,
    ofKind: readonly T[],
    name: string | undefined,
  ): readonly T[] {
    if (name === undefined) return ofKind;
    const found = ofKind.filter((one) => one.name === name);
    if (found.length > 0) return found;
    const shown = printableLine(name);
    const [what, not] = kind === 'system' ? ['CUDA', 'system'] : ['system', 'CUDA'];
    if (this.#all?.find(name) !== undefined)
      throw notFound(`The region named '${shown}' is registered as ${what} shared memory, not ${not}`);
    throw notFound(`Unable to find ${kind} shared memory region: '${shown}'`);
  }

  /**
   * Registers system shared memory.
   *
   * @throws {@link TritonError} UNSUPPORTED if clients may not, and as {@link SharedMemory.register}.
   */
  registerSystem(name: string, options: RegionOptions): void {
    this.checkAllowed().register(name, options);
  }

  /**
   * Registers memory of a GPU.
   *
   * @throws {@link TritonError} UNSUPPORTED if clients may not, and as {@link SharedMemory.registerCuda}.
   */
  async registerCuda(name: string, options: CudaRegionOptions): Promise<void> {
    const regions = this.checkAllowed();
    if (options.handle.length !== handleBytes)
      throw invalidArgument("'raw_handle' must be a valid base64 encoded cudaIpcMemHandle_t");
    await regions.registerCuda(name, options);
  }

  /**
   * Unregisters a region. As in Triton, an unknown name and one of the other kind are no error.
   *
   * @param name - Undefined: all of the kind.
   * @throws {@link TritonError} UNSUPPORTED if clients may not.
   */
  unregister(kind: MemoryKind, name: string | undefined): void {
    this.checkAllowed().unregisterForClients(kind, name);
  }

  /**
   * The range of a region that a request names.
   *
   * @throws {@link TritonError} NOT_FOUND for an unknown region, INVALID_ARG for a range that it does not have.
   */
  range({ region, offset, byteSize }: NamedRange): RegionRange {
    const found = this.#allowed ? this.#regions?.find(region) : undefined;
    const shown = printableLine(region);
    if (found === undefined) throw notFound(`Unable to find shared memory region: '${shown}'`);
    if (offset >= found.byteSize) {
      throw invalidArgument(
        `Invalid offset for shared memory region: '${shown}': it has ${found.byteSize} bytes, and the offset is ${offset}`,
      );
    }
    if (byteSize > found.byteSize - offset) {
      throw invalidArgument(
        `Invalid offset + byte size for shared memory region: '${shown}': it has ${found.byteSize} bytes, and so not ${byteSize} at offset ${offset}`,
      );
    }
    const { id, device } = found;
    return { region: id, offset, byteSize, device };
  }

  /**
   * An input in a region.
   *
   * @throws {@link TritonError} As {@link range}; INVALID_ARG if the number of bytes does not match the shape.
   */
  tensor(name: string, datatype: Datatype, shape: readonly number[], at: NamedRange): RegionTensor {
    const range = this.range(at);
    // The engine counts the elements of BYTES.
    if (datatype !== 'BYTES') checkByteSize(name, datatype, shape, at.byteSize);
    return new RegionTensor(datatype, shape, range);
  }

  /** @throws {@link TritonError} UNSUPPORTED if clients may not use shared memory. */
  checkAllowed(): ServerRegions {
    if (this.#allowed && this.#regions !== undefined) return this.#regions;
    throw new TritonError(
      'UNSUPPORTED',
      "Client shared memory is disabled. Start the server with '--allow-client-shm=true' to enable.",
    );
  }
}

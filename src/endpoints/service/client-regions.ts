/**
 * Shared memory as clients register and name it. The messages are Triton's. Two codes are not: a key that cannot be
 * opened and an output that is too large for its range are INVALID_ARG, because the client is wrong.
 */

import { invalidArgument, TritonError } from '../../errors.js';
import { printableLine } from '../../printable.js';
import {
  regionsOf,
  type RegionOptions,
  type RegionStatus,
  type ServerRegions,
} from '../../server/memory/shared-memory.js';
import type { Datatype } from '../../tensor/datatype.js';
import { RegionTensor, type RegionRange } from '../../tensor/region-tensor.js';
import { checkByteSize } from './tensors.js';

/** The two kinds of shared memory, which share one space of names. */
export type MemoryKind = 'system' | 'cuda';

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
   * The regions of a kind.
   *
   * @param name - Undefined: all of them.
   * @throws {@link TritonError} NOT_FOUND for an unknown name, and for the name of a region of the other kind.
   */
  status(kind: MemoryKind, name: string | undefined): RegionStatus[] {
    const all = this.#allowed ? (this.#regions?.regions() ?? []) : [];
    // Regions of GPUs cannot be registered.
    const ofKind = kind === 'system' ? all : [];
    if (name === undefined) return ofKind;
    const found = ofKind.filter((one) => one.name === name);
    if (found.length > 0) return found;
    const shown = printableLine(name);
    if (all.some((one) => one.name === name))
      throw notFound(`The region named '${shown}' is registered as system shared memory, not CUDA`);
    const what = kind === 'system' ? 'system' : 'cuda';
    throw notFound(`Unable to find ${what} shared memory region: '${shown}'`);
  }

  /**
   * Registers system shared memory.
   *
   * @throws {@link TritonError} UNSUPPORTED if clients may not, and as {@link SharedMemory.register}.
   */
  registerSystem(name: string, options: RegionOptions): void {
    this.checkAllowed().register(name, options);
  }

  /** @throws {@link TritonError} UNSUPPORTED if clients may not register; INVALID_ARG, as in Triton without GPUs. */
  registerCuda(name: string): never {
    this.checkAllowed();
    throw invalidArgument(
      `failed to register CUDA shared memory region: '${printableLine(name)}', GPUs not supported`,
    );
  }

  /**
   * Unregisters a region. As in Triton, an unknown name and one of the other kind are no error.
   *
   * @param name - Undefined: all of the kind.
   * @throws {@link TritonError} UNSUPPORTED if clients may not.
   */
  unregister(kind: MemoryKind, name: string | undefined): void {
    const regions = this.checkAllowed();
    if (kind === 'system') regions.unregisterForClients(name);
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
    return { region: found.id, offset, byteSize };
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

/**
 * Puts the tensors of requests into shared memory of this machine, as perf_analyzer's `--shared-memory=system`. A server
 * registers them once, and requests only name them.
 */

import { randomBytes } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { RemoteVersion } from '../../client/remote-version.js';
import type {
  RemoteInputs,
  RemoteInto,
  RemoteSharedMemory,
  SharedMemoryRange,
} from '../../client/shared-memory.js';
import { TritonError } from '../../errors.js';
import { datatypeSize } from '../../tensor/datatype.js';
import { elementCount } from '../../tensor/shape.js';
import { thrownText } from '../../thrown-text.js';
import { clearTimeout, setTimeout } from '../../timers.js';
import type { DataSet } from '../inputs/data-set.js';
import type { PlannedModel, PlannedTensor } from '../inputs/model-inputs.js';
import type { Step, StepStream } from '../inputs/step.js';
import type { OpenedServer } from './target.js';

/** Where shared memory lies on Linux: the name of an object of `shm_open` is a file here. */
const folder = '/dev/shm';

/** Tensors begin at multiples of this, a line of the processor's cache. */
const alignment = 64;

/** Requests that are under way at once write their outputs to different places, as far as these limits allow. */
const mostPlaces = 64;
const mostPlaceBytes = 16 << 20;

/** How long a server may take to register or unregister a region. */
const answerMs = 10_000;

/** How tensors are shared. */
export interface SharedMemoryPlan {
  /** The room for an output whose size does not follow from its shape, in bytes. */
  readonly outputBytes: number;
}

/** What of a run decides where its outputs go. */
export interface SharedUse extends SharedMemoryPlan {
  readonly batch: number;
  /** How many requests are under way at once; Infinity: not known. */
  readonly atOnce: number;
  /** Whether outputs come in the answers. */
  readonly outputsAnswered: boolean;
}

/** Data whose tensors are in shared memory. */
export interface SharedTensors {
  readonly data: DataSet;
  /**
   * Unregisters the regions.
   *
   * @throws {@link TritonError} If the server does not; the memory is then freed with the server.
   */
  close(): Promise<void>;
}

const aligned = (bytes: number): number => Math.ceil(bytes / alignment) * alignment;

/** A region that the server has registered, whose name in `/dev/shm` is gone already. */
class Region {
  readonly name: string;
  readonly #path: string;
  readonly #descriptor: number;
  #size = 0;

  /** @throws {@link TritonError} UNAVAILABLE if the memory cannot be made. */
  constructor(name: string) {
    this.name = name;
    this.#path = `${folder}/${name}`;
    this.#descriptor = roomFor(this.#path, () => openSync(this.#path, 'wx+', 0o600));
  }

  /** Adds bytes behind all others. Returns where they are. */
  add(bytes: Uint8Array): SharedMemoryRange {
    const offset = this.#size;
    const { byteLength: byteSize } = bytes;
    roomFor(this.#path, () => {
      for (let done = 0; done < byteSize;)
        done += writeSync(this.#descriptor, bytes, done, byteSize - done, offset + done);
    });
    this.#size = aligned(offset + byteSize);
    return { region: this.name, offset, byteSize };
  }

  /** Adds room behind all others. */
  leave(byteSize: number): SharedMemoryRange {
    const offset = this.#size;
    this.#size = aligned(offset + byteSize);
    return { region: this.name, offset, byteSize };
  }

  /** Registers all that was added. The name in `/dev/shm` goes at once, so that no end of this process can leave it. */
  async register(memory: RemoteSharedMemory): Promise<void> {
    roomFor(this.#path, () => {
      ftruncateSync(this.#descriptor, this.#size);
    });
    // If all tensors are empty, there is nothing to register.
    if (this.#size > 0) await memory.register(this.name, { key: `/${this.name}`, byteSize: this.#size });
    this.#unlink();
  }

  /** Frees this process's part. */
  close(): void {
    this.#unlink();
    closeSync(this.#descriptor);
  }

  #unlink(): void {
    try {
      unlinkSync(this.#path);
    } catch {
      // It is gone already.
    }
  }
}

function roomFor<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (cause) {
    throw new TritonError(
      'UNAVAILABLE',
      `--shared-memory=system: ${path} cannot be made: ${thrownText(cause)}`,
      {
        cause,
      },
    );
  }
}

/**
 * Puts tensors into shared memory, and registers it with the server.
 *
 * @throws {@link TritonError} UNSUPPORTED for a server without shared memory, UNAVAILABLE if this machine has no room for it; the
 *   server's error if it cannot open it.
 */
export async function shareTensors(
  server: OpenedServer,
  memory: RemoteSharedMemory,
  model: PlannedModel,
  data: DataSet,
  use: SharedUse,
): Promise<SharedTensors> {
  if (process.platform !== 'linux')
    throw new TritonError(
      'UNSUPPORTED',
      `--shared-memory=system: shared memory is for Linux, and this is ${process.platform}`,
    );
  const id = `tritonts-perf-${process.pid}-${randomBytes(4).toString('hex')}`;
  const regions: Region[] = [];
  const close = async (): Promise<void> => {
    let failure: unknown;
    for (const region of regions) {
      region.close();
      try {
        // The connection is still open when a run is interrupted. So no signal ends this.
        await limited(memory.unregister(region.name), server.place);
      } catch (error) {
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure as Error;
  };
  const made = (name: string): Region => {
    const region = new Region(`${id}-${name}`);
    regions.push(region);
    return region;
  };
  try {
    const inputs = made('inputs');
    const version = new RemoteVersion(server.metadata.name, server.metadata, server.config);
    const steps = data.steps.map((step) => ({ ...step, inputs: placed(inputs, version, step) }));
    const places = use.outputsAnswered ? [] : placesOf(model, use);
    const outputs = places.length > 0 ? made('outputs') : undefined;
    const into = outputs === undefined ? [] : places.map((one) => placeOutputs(outputs, one));
    for (const region of regions) await registered(region, memory, server.place);
    return { data: withPlaces(data, steps, into), close };
  } catch (error) {
    // The first error says more.
    await close().catch(() => undefined);
    throw error;
  }
}

async function registered(region: Region, memory: RemoteSharedMemory, place: string): Promise<void> {
  try {
    await limited(region.register(memory), place);
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    const { code, message, reason } = error;
    throw new TritonError(
      code,
      `--shared-memory=system: ${place} does not register memory of this process: ${message}`,
      { cause: error, reason },
    );
  }
}

/** Waits for an answer for a limited time, also after the run was interrupted. */
async function limited(answer: Promise<void>, place: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(
        new TritonError('UNAVAILABLE', `${place} did not answer about shared memory within ${answerMs} ms`, {
          reason: 'TIMED_OUT',
        }),
      );
    }, answerMs);
  });
  try {
    await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** The inputs of a step, in the region. Empty tensors have no place there. */
function placed(region: Region, version: RemoteVersion, { inputs }: Step): RemoteInputs {
  const moved = version
    .check(inputs, {})
    .inputs.flatMap(({ name, shape, bytes }) =>
      bytes.byteLength === 0 ? [] : [[name, { sharedMemory: region.add(bytes), shape }] as const],
    );
  return { ...inputs, ...Object.fromEntries(moved) };
}

/** An output, and the room for it. */
interface Room {
  readonly name: string;
  readonly bytes: number;
}

/** The outputs of each place; empty: the model has none. */
function placesOf(
  model: PlannedModel,
  { batch, atOnce, outputBytes }: SharedUse,
): readonly (readonly Room[])[] {
  const rows = model.maxBatchSize > 0 ? batch : 1;
  const bytesOf = ({ datatype, shape }: PlannedTensor): number =>
    shape === undefined || datatype === 'BYTES'
      ? outputBytes
      : Math.max(1, rows * elementCount(shape) * datatypeSize[datatype]);
  const rooms = model.outputs.map((output): Room => ({ name: output.name, bytes: bytesOf(output) }));
  if (rooms.length === 0) return [];
  const bytes = rooms.reduce((sum, room) => sum + aligned(room.bytes), 0);
  const count = Math.max(1, Math.min(atOnce, mostPlaces, Math.floor(mostPlaceBytes / bytes)));
  return Array.from({ length: count }, () => rooms);
}

function placeOutputs(region: Region, rooms: readonly Room[]): RemoteInto {
  return Object.fromEntries(rooms.map(({ name, bytes }) => [name, { sharedMemory: region.leave(bytes) }]));
}

/** The streams with other steps, so often that requests which follow one another have different places. */
function withPlaces(data: DataSet, steps: readonly Step[], places: readonly RemoteInto[]): DataSet {
  const rounds = Math.max(1, Math.ceil(places.length / steps.length));
  const all: Step[] = [];
  const streams = Array.from({ length: rounds }, () =>
    data.streams.map((stream): StepStream => {
      const [first, ...rest] = stream;
      const move = (step: Step): Step => {
        const index = all.length;
        const into = places[index % Math.max(1, places.length)];
        const moved = { ...(steps[step.index] ?? step), index, ...(into !== undefined && { into }) };
        all.push(moved);
        return moved;
      };
      return [move(first), ...rest.map(move)];
    }),
  ).flat();
  const [head, ...tail] = streams;
  return { ...data, streams: head === undefined ? data.streams : [head, ...tail], steps: all };
}

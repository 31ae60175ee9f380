/**
 * Tensors in regions of GPUs, for requests that cannot use them there: they are copied by way of the host. Models that
 * compute on the GPU itself read and write such regions without this.
 */

import type { Waiter } from '../../dispatch/types.js';
import { invalidArgument, TritonError } from '../../errors.js';
import type { CudaMemory } from '../../server/memory/cuda-memory.js';
import type { ModelHandle } from '../../server/models/model-handle.js';
import type { InferResult } from '../../api/results.js';
import type { AnyTensor } from '../../tensor/tensor.js';
import type { Inputs, TensorInput } from '../../tensor/inputs.js';
import { RegionTensor, StoredTensor, type RegionRange } from '../../tensor/region-tensor.js';
import { bytesOfTensor, tensorOfBytes } from './tensors.js';

type Targets = ReadonlyMap<string, RegionRange>;

/** The tensors of a request. */
export interface Tensors {
  readonly inputs: Inputs;
  /** Where outputs go, by name, if some go to regions. */
  readonly targets: Targets | undefined;
}

const isOfGpu = (range: RegionRange): boolean => range.device !== undefined;

/** Whether a request has tensors in regions of GPUs. */
export function usesGpus({ inputs, targets }: Tensors): boolean {
  for (const name in inputs) {
    const input = inputs[name];
    if (input instanceof RegionTensor && isOfGpu(input.range)) return true;
  }
  if (targets !== undefined) for (const range of targets.values()) if (isOfGpu(range)) return true;
  return false;
}

function about(model: string, what: string, error: unknown): unknown {
  if (!(error instanceof TritonError)) return error;
  const { code, reason, message } = error;
  return new TritonError(code, `model '${model}', ${what}: ${message}`, { cause: error, model, reason });
}

/** See the head of this file. A request has its own. Somebody must call {@link Staging.end}. */
export class Staging {
  readonly #memory: CudaMemory;
  readonly #model: string;
  readonly #tensors: Tensors;
  readonly #fetched: readonly (readonly [string, RegionTensor])[];
  readonly #stored: Targets;
  /** Give back the regions, which are in use until then. */
  #releases: (() => void)[] = [];

  private constructor(
    memory: CudaMemory,
    model: string,
    tensors: Tensors,
    fetched: readonly (readonly [string, RegionTensor])[],
    stored: Targets,
  ) {
    this.#memory = memory;
    this.#model = model;
    this.#tensors = tensors;
    this.#fetched = fetched;
    this.#stored = stored;
  }

  /**
   * The staging that a request needs; undefined: none.
   *
   * @throws {@link TritonError} NOT_FOUND if a region is gone; also if the model has no ready version.
   */
  static of(memory: CudaMemory, handle: ModelHandle, tensors: Tensors): Staging | undefined {
    const fetched: [string, RegionTensor][] = [];
    for (const name in tensors.inputs) {
      const input = tensors.inputs[name];
      if (!(input instanceof RegionTensor) || !isOfGpu(input.range)) continue;
      if (!handle.readsRegion(name, input.range)) fetched.push([name, input]);
    }
    const stored = new Map<string, RegionRange>();
    for (const [name, range] of tensors.targets ?? [])
      if (isOfGpu(range) && !handle.writesRegion(range)) stored.set(name, range);
    if (fetched.length === 0 && stored.size === 0) return undefined;
    const staging = new Staging(memory, handle.name, tensors, fetched, stored);
    staging.#hold();
    return staging;
  }

  /** Where outputs go that the engine itself writes; undefined: there are none. */
  get targets(): Targets | undefined {
    const others = [...(this.#tensors.targets ?? [])].filter(([name]) => !this.#stored.has(name));
    return others.length > 0 ? new Map(others) : undefined;
  }

  /** The request's inputs, none of which is in a region that the model cannot read. */
  async fetch(): Promise<Inputs> {
    const fetched = this.#fetched.map(
      async ([name, { datatype, shape, range }]): Promise<[string, TensorInput]> => {
        try {
          const bytes = await this.#memory.fetch(range);
          return [name, tensorOfBytes(name, datatype, shape, bytes)];
        } catch (error) {
          throw about(this.#model, `input '${name}'`, error);
        }
      },
    );
    // fromEntries defines properties, so `__proto__` is a name like any other.
    return Object.fromEntries([...Object.entries(this.#tensors.inputs), ...(await allOf(fetched))]);
  }

  /** Copies outputs to their regions, and returns the result without them. If one is too large, none is copied. */
  async store(result: InferResult): Promise<InferResult> {
    const outputs: Record<string, unknown> = { __proto__: null, ...result.outputs };
    const copies: { readonly name: string; readonly range: RegionRange; readonly bytes: Buffer }[] = [];
    for (const [name, range] of this.#stored) {
      const tensor = result.outputs[name];
      if (tensor === undefined) continue;
      const bytes = bytesOfTensor(tensor);
      if (bytes.length > range.byteSize) {
        throw invalidArgument(
          `shared memory size specified with the request for output '${name}' (${range.byteSize} bytes) should be at least ${bytes.length} bytes to hold the results`,
          { model: this.#model, tensor: name },
        );
      }
      copies.push({ name, range, bytes });
      outputs[name] = new StoredTensor(tensor.datatype, tensor.shape, bytes.length);
    }
    await allOf(
      copies.map(async ({ name, range, bytes }) => {
        try {
          await this.#memory.store(range, bytes);
        } catch (error) {
          throw about(this.#model, `output '${name}'`, error);
        }
      }),
    );
    // Endpoints know stored tensors; the type of a result does not.
    return { ...result, outputs: outputs as Record<string, AnyTensor> };
  }

  /** The request is over, or was never sent. Idempotent. */
  end(): void {
    const releases = this.#releases;
    this.#releases = [];
    for (const release of releases) release();
  }

  /** A waiter that stores the outputs of a result, and ends this, before it passes the result on. */
  waiter(next: Waiter<InferResult>): Waiter<InferResult> {
    return {
      resolve: (result) => {
        this.store(result).then(
          (stored) => {
            this.end();
            next.resolve(stored);
          },
          (error: unknown) => {
            this.end();
            next.reject(error);
          },
        );
      },
      reject: (error) => {
        this.end();
        next.reject(error);
      },
    };
  }

  /**
   * A stream whose outputs are stored before its results are passed on. Its end ends this.
   *
   * @param open - Gets the fetched inputs.
   */
  stream(open: (inputs: Inputs) => AsyncIterableIterator<InferResult>): AsyncIterableIterator<InferResult> {
    return new StagedStream(this, open);
  }

  #hold(): void {
    const ranges = [...this.#fetched.map(([, { range }]) => range), ...this.#stored.values()];
    try {
      for (const range of ranges) this.#releases.push(this.#memory.hold(range));
    } catch (error) {
      this.end();
      throw error;
    }
  }
}

/**
 * Like Promise.all, but settles only when all have.
 *
 * @throws The first error of the list.
 */
async function allOf<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
}

type Next = IteratorResult<InferResult, undefined>;

const end: Next = { done: true, value: undefined };

/** A generator would only learn of `return` after the response that it waits for. */
class StagedStream implements AsyncIterableIterator<InferResult> {
  readonly #staging: Staging;
  readonly #responses: Promise<AsyncIterableIterator<InferResult>>;
  /** What follows the response that is being stored. */
  #following: Promise<IteratorResult<InferResult, unknown>> | undefined;
  #isEnded = false;

  constructor(staging: Staging, open: (inputs: Inputs) => AsyncIterableIterator<InferResult>) {
    this.#staging = staging;
    this.#responses = staging.fetch().then(open);
    // The first `next` tells of it.
    this.#responses.catch(() => undefined);
  }

  /** After the last response this resolves at once, so that an endpoint can mark that one as final. */
  next(): Promise<Next> {
    return this.#isEnded ? Promise.resolve(end) : this.#next();
  }

  async return(): Promise<Next> {
    await (await this.#responses.catch(() => undefined))?.return?.();
    this.#end();
    return end;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async #next(): Promise<Next> {
    try {
      const responses = await this.#responses;
      const next = await (this.#following ?? responses.next());
      this.#following = undefined;
      if (next.done === true) {
        this.#end();
        return end;
      }
      const following = responses.next();
      this.#following = following;
      const last = { known: false };
      following.then(
        ({ done }) => {
          last.known = done === true;
        },
        () => undefined, // The next `next` tells of it.
      );
      const value = await this.#staging.store(next.value);
      if (last.known) this.#end();
      return { value };
    } catch (error) {
      this.#end();
      throw error;
    }
  }

  #end(): void {
    this.#isEnded = true;
    this.#staging.end();
  }
}

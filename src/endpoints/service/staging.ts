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

/** What of a request has to do with regions. */
interface Request {
  readonly inputs: Inputs;
  readonly targets: Targets | undefined;
}

const isOfGpu = (range: RegionRange): boolean => range.device !== undefined;

function about(model: string, what: string, error: unknown): unknown {
  if (!(error instanceof TritonError)) return error;
  const { code, reason, message } = error;
  return new TritonError(code, `model '${model}', ${what}: ${message}`, { cause: error, model, reason });
}

/** See the head of this file. A request has its own. */
export class Staging {
  readonly #memory: CudaMemory;
  readonly #model: string;
  readonly #request: Request;
  readonly #fetched: readonly (readonly [string, RegionTensor])[];
  readonly #stored: Targets;

  private constructor(
    memory: CudaMemory,
    model: string,
    request: Request,
    fetched: readonly (readonly [string, RegionTensor])[],
    stored: Targets,
  ) {
    this.#memory = memory;
    this.#model = model;
    this.#request = request;
    this.#fetched = fetched;
    this.#stored = stored;
  }

  /**
   * The staging that a request needs; undefined: none.
   *
   * @throws {@link TritonError} If the model has no ready version.
   */
  static of(memory: CudaMemory, handle: ModelHandle, request: Request): Staging | undefined {
    const fetched: [string, RegionTensor][] = [];
    for (const name in request.inputs) {
      const input = request.inputs[name];
      if (!(input instanceof RegionTensor) || !isOfGpu(input.range)) continue;
      if (!handle.readsRegion(name, input.range)) fetched.push([name, input]);
    }
    const stored = new Map<string, RegionRange>();
    for (const [name, range] of request.targets ?? [])
      if (isOfGpu(range) && !handle.writesRegion(range)) stored.set(name, range);
    if (fetched.length === 0 && stored.size === 0) return undefined;
    return new Staging(memory, handle.name, request, fetched, stored);
  }

  /** Where outputs go that the engine itself writes; undefined: there are none. */
  get targets(): Targets | undefined {
    const others = [...(this.#request.targets ?? [])].filter(([name]) => !this.#stored.has(name));
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
    return Object.fromEntries([...Object.entries(this.#request.inputs), ...(await Promise.all(fetched))]);
  }

  /** Copies outputs to their regions, and returns the result without them. */
  async store(result: InferResult): Promise<InferResult> {
    const outputs: Record<string, unknown> = { __proto__: null, ...result.outputs };
    const stored = [...this.#stored].map(async ([name, range]) => {
      const tensor = result.outputs[name];
      if (tensor === undefined) return;
      const bytes = bytesOfTensor(tensor);
      if (bytes.length > range.byteSize) {
        throw invalidArgument(
          `shared memory size specified with the request for output '${name}' (${range.byteSize} bytes) should be at least ${bytes.length} bytes to hold the results`,
          { model: this.#model, tensor: name },
        );
      }
      try {
        await this.#memory.store(range, bytes);
      } catch (error) {
        throw about(this.#model, `output '${name}'`, error);
      }
      outputs[name] = new StoredTensor(tensor.datatype, tensor.shape, bytes.length);
    });
    await Promise.all(stored);
    // Those that write answers know tensors that are stored.
    return { ...result, outputs: outputs as Record<string, AnyTensor> };
  }

  /** A waiter that stores the outputs of a result before it passes the result on. */
  waiter(next: Waiter<InferResult>): Waiter<InferResult> {
    return {
      resolve: (result) => {
        this.store(result).then(
          (stored) => {
            next.resolve(stored);
          },
          (error: unknown) => {
            next.reject(error);
          },
        );
      },
      reject: (error) => {
        next.reject(error);
      },
    };
  }

  /** A stream whose outputs are stored before its results are passed on. `open` gets the fetched inputs. */
  stream(open: (inputs: Inputs) => AsyncIterableIterator<InferResult>): AsyncIterableIterator<InferResult> {
    return new StagedStream(this, open);
  }
}

/** A generator would only learn of `return` after the response that it waits for. */
class StagedStream implements AsyncIterableIterator<InferResult> {
  readonly #staging: Staging;
  readonly #responses: Promise<AsyncIterableIterator<InferResult>>;

  constructor(staging: Staging, open: (inputs: Inputs) => AsyncIterableIterator<InferResult>) {
    this.#staging = staging;
    this.#responses = staging.fetch().then(open);
    // The first `next` tells of it.
    this.#responses.catch(() => undefined);
  }

  async next(): Promise<IteratorResult<InferResult, undefined>> {
    const next = await (await this.#responses).next();
    return next.done === true
      ? { done: true, value: undefined }
      : { value: await this.#staging.store(next.value) };
  }

  async return(): Promise<IteratorResult<InferResult, undefined>> {
    await (await this.#responses.catch(() => undefined))?.return?.();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

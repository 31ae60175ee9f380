/** Answers a model's questions to the server: about other models, loads and metrics. */

import { typeNumber, type ModelConfig } from '../config/index.js';
import { invalidArgument, TritonError } from '../errors.js';
import { findModel } from '../addon/find-model.js';
import type { NativeServer } from '../addon/native/server.js';
import type { VersionHost } from '../javascript/model-server.js';
import { CustomMetrics, valueOf } from '../metrics/custom.js';
import type { Metric } from '../api/metric.js';
import type { Question } from './stub-process.js';

/** The used part of a published model. */
interface Published {
  readonly lazy?: unknown;
  readonly versions: readonly {
    readonly version: number;
    readonly state: string;
    readonly descriptor?: { readonly uid: number; readonly config: ModelConfig };
  }[];
}

/** A tensor's description for the stub. */
export interface StubTensor {
  readonly name: string;
  readonly datatype: number;
  /** The dims as the model sees them, without the batch dimension. */
  readonly dims: readonly number[];
}

/** The stub's descriptions of a configuration's tensors. */
export function stubTensors(
  tensors: readonly Pick<ModelConfig['input'][number], 'name' | 'data_type' | 'dims' | 'reshape'>[],
): StubTensor[] {
  return tensors.map(({ name, data_type, dims, reshape }) => ({
    name,
    datatype: typeNumber(data_type),
    dims: (reshape?.shape ?? dims).map(Number),
  }));
}

/** What a model asks; `answer` has the answers. */
const questions = ['resolve', 'ready', 'load', 'unload', 'metric', 'measure'];
/** What a model does with a metric. */
const actions = ['increment', 'set', 'observe', 'value'];

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** See the head of this file. Each process has its own. */
export class Questions {
  readonly #asker: string;
  readonly #native: NativeServer;
  readonly #host: VersionHost;
  /** The metrics of a model that is only checked. They are never shown. */
  readonly #unseen: CustomMetrics = new CustomMetrics();
  readonly #metrics: Metric[] = [];
  /** The numbers by which the process refers to metrics. */
  readonly #numbers: Map<Metric, number> = new Map();

  /** @param asker - The name of the model that asks. */
  constructor(asker: string, native: NativeServer, host: VersionHost) {
    this.#asker = asker;
    this.#native = native;
    this.#host = host;
  }

  readonly answer = async ({ ask, arguments: given, files }: Question): Promise<unknown> => {
    const model = textOf(given['model']);
    switch (ask) {
      case 'resolve':
        return this.#resolve(model, Number(given['version'] ?? -1));
      case 'ready':
        return this.#isReady(model, textOf(given['version']));
      case 'load':
        await this.#load(model, given, files());
        return null;
      case 'unload':
        await this.#host.asker.now(() =>
          this.#host.server().unloadModel(model, { unloadDependents: given['dependents'] === true }),
        );
        return null;
      case 'metric':
        // The server checks the options.
        return this.#numberOf(this.#server().metric(given['options'] as never));
      case 'measure':
        return this.#measure(Number(given['metric']), textOf(given['action']), Number(given['by']));
      default:
        throw this.#unknown('question', ask, questions);
    }
  };

  /** The owner of the model's metrics: the server, or a stand-in if the model is only checked. */
  #server(): Pick<CustomMetrics, 'metric'> {
    return this.#host.handle === undefined ? this.#unseen : this.#host.server();
  }

  #published(model: string): { revision: number; ready: Published['versions'] } {
    const key = findModel(this.#native, model);
    const read = key && this.#native.read(key, -1);
    if (read?.json === undefined) throw this.#notServed(model, undefined);
    // `Registry` has written this JSON.
    const { versions } = JSON.parse(read.json) as Published;
    const ready = versions.filter(({ state, descriptor }) => state === 'READY' && descriptor !== undefined);
    return { revision: read.revision, ready };
  }

  async #resolve(model: string, version: number): Promise<object> {
    // Throws once the server is closing, because published versions then take no calls.
    if (this.#host.handle !== undefined) this.#host.server().model(model);
    if (this.#sleeps(model)) await this.#wake(model);
    const { revision, ready } = this.#published(model);
    const found =
      version < 0
        ? ready.reduce<(typeof ready)[number] | undefined>(
            (best, one) => (best === undefined || one.version > best.version ? one : best),
            undefined,
          )
        : ready.find((one) => one.version === version);
    if (found?.descriptor === undefined) throw this.#notServed(model, version < 0 ? undefined : version);
    const { uid, config } = found.descriptor;
    return {
      uid,
      revision,
      decoupled: config.model_transaction_policy?.decoupled === true,
      inputs: stubTensors(config.input),
      outputs: stubTensors(config.output),
    };
  }

  /** Whether a model is lazy and not loaded. */
  #sleeps(model: string): boolean {
    const key = findModel(this.#native, model);
    const json = key && this.#native.read(key, -1)?.json;
    if (json === undefined) return false;
    // `Registry` has written this JSON.
    const { lazy, versions } = JSON.parse(json) as Published;
    return lazy !== undefined && !versions.some(({ state }) => state === 'READY');
  }

  async #wake(model: string): Promise<void> {
    const key = findModel(this.#native, model);
    if (key) await this.#host.asker.now(() => this.#host.wake(key));
  }

  #notServed(model: string, version: number | undefined): TritonError {
    const what = version === undefined ? `model '${model}'` : `model '${model}', version ${version}`;
    return new TritonError('NOT_FOUND', `${what} is not ready, or unknown`, { model });
  }

  async #isReady(model: string, version: string): Promise<boolean> {
    // A model that is only checked has no server, and no models are served.
    if (this.#host.handle === undefined) return false;
    try {
      return await this.#host
        .server()
        .model(model, version === '' ? undefined : version)
        .checkReady();
    } catch (error) {
      if (error instanceof TritonError && error.code === 'NOT_FOUND') return false;
      throw error;
    }
  }

  async #load(
    model: string,
    given: Question['arguments'],
    sent: ReturnType<Question['files']>,
  ): Promise<void> {
    const config = textOf(given['config']);
    const files = Object.entries(sent ?? {}).map(
      ([path, bytes]) => [path.replace(/^file:/, ''), bytes] as const,
    );
    await this.#host.asker.now(() =>
      this.#host.server().loadModel(model, {
        ...(config !== '' && { config }),
        ...(files.length > 0 && { files: Object.fromEntries(files) }),
      }),
    );
  }

  /** The number of a metric. A metric that is requested again, for instance by every request, keeps its number. */
  #numberOf(metric: Metric): number {
    const known = this.#numbers.get(metric);
    if (known !== undefined) return known;
    const number = this.#metrics.push(metric) - 1;
    this.#numbers.set(metric, number);
    return number;
  }

  #unknown(what: string, given: string, known: readonly string[]): TritonError {
    return invalidArgument(
      `model '${this.#asker}': expected ${known.join(', ')} as ${what} but received '${given}'`,
    );
  }

  #measure(number: number, action: string, by: number): number {
    const metric = this.#metrics[number];
    if (metric === undefined) {
      throw invalidArgument(
        `model '${this.#asker}': expected the number of one of its ${this.#metrics.length} metrics but received ${number}`,
      );
    }
    if (action === 'increment') metric.increment(by);
    else if (action === 'set') metric.set(by);
    else if (action === 'observe') metric.observe(by);
    else if (action !== 'value') throw this.#unknown('action of a metric', action, actions);
    return action === 'value' ? valueOf(metric) : 0;
  }
}

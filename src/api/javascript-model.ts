/** The types of models that are written in JavaScript. */

import type { ModelConfig, ModelConfigInput } from '../config/index.js';
import type { TensorInput, TensorInputOf } from '../tensor/inputs.js';
import type { ModelSignature, SignatureFor } from '../tensor/signature.js';
import type { ModelRequest, NameOrSignature } from './model-request.js';
import type { ModelServer } from './server.js';

/** The outputs that a model with signature `S` answers with; those that nobody wants may be missing. */
export type AnsweredOf<S extends ModelSignature> = string extends keyof S['outputs']
  ? Readonly<Record<string, TensorInput | null | undefined>>
  : { readonly [N in keyof S['outputs']]?: TensorInputOf<NonNullable<S['outputs'][N]>> | null | undefined };

/**
 * The outputs of one request by name. Each takes what `infer` takes as an input, and is checked against the
 * configuration's outputs. Their bytes are copied once, so they may be views of inputs. An output that the caller wants
 * and that is not there is an error. `null` leaves it out on purpose.
 *
 * @example
 * const outputs: Outputs = { y: new Float32Array(16) };
 */
export type Outputs<M extends NameOrSignature = ModelSignature> = AnsweredOf<SignatureFor<M>>;

/**
 * What `execute` returns: one result for each request, in their order, or a promise of it. An `Error`, and what such a
 * promise rejects with, fails that request only. A TritonError keeps its code, and any other error is INTERNAL.
 *
 * The result of a decoupled model may be an iterable, such as a generator: each item is one response, and its end
 * ends the request. It is asked for the next item when the caller has at most 15 to read. A caller that leaves has
 * its `return()` called.
 *
 * @example
 * const results: Results = requests.map(({ inputs }) => ({ y: inputs.x }));
 */
export type Results<M extends NameOrSignature = ModelSignature> = readonly (
  ModelResult<M> | PromiseLike<ModelResult<M>>
)[];

/**
 * The result of one request; see {@link Results}.
 *
 * @example
 * const result: ModelResult = { y: new Float32Array(16) };
 */
export type ModelResult<M extends NameOrSignature = ModelSignature> =
  | Outputs<M>
  | Error
  | Iterable<Outputs<M> | Error | PromiseLike<Outputs<M> | Error>>
  | AsyncIterable<Outputs<M> | Error>;

/**
 * Writes to the server's `logger`, with the model's name in front of each message and in its context. What the
 * server's logger does not take (by default `info` and `verbose`) costs nothing. A message beyond 16,384
 * characters is cut. Of a thread that writes faster than its server reads, 1,000 messages wait; others are
 * dropped, and their number is logged.
 *
 * @example
 * initialize({ logger }) {
 *   logger.info('the dictionary is loaded');
 * }
 */
export interface ModelLogger {
  /** Something failed that no caller is told of. `error` is the reason; from a thread it comes as message and stack. */
  error(message: string, error?: unknown): void;
  /** Something is not as it should be. */
  warn(message: string, error?: unknown): void;
  /** Something worth knowing. */
  info(message: string, error?: unknown): void;
  /** Details. */
  verbose(message: string, error?: unknown): void;
}

/**
 * What a model learns when it is initialised.
 *
 * @example
 * initialize({ directory, config }) {
 *   this.words = readFileSync(join(directory, 'words.txt'), 'utf8').split('\n');
 * }
 */
export interface ModelContext {
  /** Name of the model. */
  readonly name: string;
  /** The model's version, as text. */
  readonly version: string;
  /** The complete configuration, frozen. */
  readonly config: ModelConfig;
  /** Which instance of the model this is. `index` counts over all instance groups. */
  readonly instance: {
    readonly name: string;
    readonly index: number;
    readonly kind: string;
    readonly device: number;
  };
  /** Path of the version's folder; empty for models of the program. */
  readonly directory: string;
  /** Writes to the server's `logger`. */
  readonly logger: ModelLogger;
  /**
   * The server that the model belongs to, to call other models. It is a connection of this thread, as {@link
   * attachServer} makes one, but it needs no `close()`; for a model of the program it is the program's own. In
   * `initialize` those models are ready that are named in the parameter `requires`. It is connected when it is first
   * read, which throws UNAVAILABLE once the server is closed. Triton: BLS.
   *
   * @example
   * initialize({ server }) {
   *   this.tokenizer = server.model('tokenizer');
   * }
   */
  readonly server: ModelServer;
}

/**
 * A model in JavaScript: an object with these functions, or an instance of a class that has them. Triton: a
 * `TritonPythonModel`.
 *
 * @typeParam M - The model's name in {@link ModelRegistry}, or its signature: inputs and results are typed by it (default: any).
 *
 * @example
 * const upper: JavaScriptModel<'upper'> = {
 *   execute: (requests) => requests.map(({ inputs }) => ({ upper: inputs.text.strings().map((one) => one.toUpperCase()) })),
 * };
 *
 * @example
 * export default class AddOne implements JavaScriptModel {
 *   execute(requests: readonly ModelRequest[]): Results {
 *     return requests.map(({ inputs }) => ({ y: inputs['x']?.as('FP32').data.map((value) => value + 1) }));
 *   }
 * }
 */
export interface JavaScriptModel<M extends NameOrSignature = ModelSignature> {
  /** Called once before the first batch. If it throws or rejects, the load fails with its message. */
  initialize?(context: ModelContext): void | Promise<void>;
  /** Runs a batch. What it throws, or rejects with, fails all requests of the batch with INTERNAL. */
  execute(requests: readonly ModelRequest<M>[]): Results<M> | Promise<Results<M>>;
  /** Called when the model is unloaded and its batches have ended. */
  finalize?(): void | Promise<void>;
}

/**
 * A class of models. Each instance of the model is one object of it, on a thread of its own.
 *
 * @example
 * const AddOne: JavaScriptModelClass = class {
 *   static completeConfig() {
 *     return { max_batch_size: 8, input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }] };
 *   }
 *   execute(requests) {
 *     return requests.map(({ inputs }) => ({ y: inputs.x }));
 *   }
 * };
 */
export interface JavaScriptModelClass<M extends NameOrSignature = ModelSignature> {
  new (): JavaScriptModel<M>;
  /**
   * Completes a configuration when the model is loaded: `max_batch_size`, `input`, `output` and
   * `dynamic_batching`, as far as they are not written. Triton: `auto_complete_config`.
   */
  completeConfig?(config: ModelConfig): ModelConfigInput | Promise<ModelConfigInput>;
}

/**
 * A backend in JavaScript, as {@link registerBackend} takes it: a class of which each instance of each model is
 * one object, or an object that serves all models.
 *
 * @example
 * const rules: JavaScriptBackend = class {
 *   initialize({ directory }) {
 *     this.rules = JSON.parse(readFileSync(join(directory, 'rules.json'), 'utf8'));
 *   }
 *   execute(requests) {
 *     return requests.map(({ inputs }) => ({ y: judge(this.rules, inputs.x) }));
 *   }
 * };
 */
export type JavaScriptBackend = JavaScriptModelClass | JavaScriptModel;

/**
 * A model of the program: its configuration, with the model's own functions. It runs on the event loop of the
 * environment that creates the server, as one instance.
 *
 * @example
 * const upper: ModelObject = {
 *   config: {
 *     max_batch_size: 8,
 *     input: [{ name: 'text', data_type: 'TYPE_STRING', dims: [1] }],
 *     output: [{ name: 'upper', data_type: 'TYPE_STRING', dims: [1] }],
 *   },
 *   execute: (requests) =>
 *     requests.map(({ inputs }) => ({ upper: [inputs.text.strings().map((text) => text.toUpperCase())] })),
 * };
 */
export interface ModelObject<M extends NameOrSignature = ModelSignature> extends JavaScriptModel<M> {
  /** The configuration, as in {@link LoadModelOptions}. Its backend is `javascript`. */
  readonly config: ModelConfigInput | string;
}

/**
 * A model of the program that runs on threads of its own, one for each instance.
 *
 * @example
 * const server = await createServer({
 *   models: { upper: { config: { max_batch_size: 8, … }, module: new URL('../javascript/upper.js', import.meta.url) } },
 * });
 */
export interface ModelModule {
  /** The configuration, as in {@link LoadModelOptions} (default: {}). Its backend is `javascript`. */
  readonly config?: ModelConfigInput | string | undefined;
  /** The file whose default export is the model: a file URL. */
  readonly module: URL;
}

/**
 * Options of the threads that run JavaScript models, as those of `worker_threads`.
 *
 * @example
 * const server = await createServer('./models', { workers: { resourceLimits: { maxOldGenerationSizeMb: 256 } } });
 */
export interface WorkersOptions {
  /** Limits of each thread's heap, in MiB (default: none). A thread beyond them ends, and is started anew. */
  readonly resourceLimits?:
    | {
        readonly maxOldGenerationSizeMb?: number | undefined;
        readonly maxYoungGenerationSizeMb?: number | undefined;
        readonly codeRangeSizeMb?: number | undefined;
        readonly stackSizeMb?: number | undefined;
      }
    | undefined;
  /** `process.env` of the threads (default: a copy of this one's). */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Node's own options for the threads (default: this environment's). */
  readonly execArgv?: readonly string[] | undefined;
  /**
   * How long an unload or a reload waits for requests that run, in milliseconds (default 30,000). Then they
   * fail, and their thread is ended, also in the middle of a loop.
   */
  readonly unloadTimeoutMs?: number | undefined;
}

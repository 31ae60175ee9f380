/** The types of models that are written in JavaScript. */

import type { ModelConfig, ModelConfigInput } from '../config/index.js';
import type { TensorInput, TensorInputOf } from '../tensor/inputs.js';
import type { ModelSignature, SignatureFor } from '../tensor/signature.js';
import type { ModelRequest, NameOrSignature, ParameterizedResult, Rescheduled } from './model-request.js';
import type { ModelServer } from './server.js';

/**
 * The outputs that a model with signature `S` returns for one request. Outputs that the caller did not ask for
 * may be missing.
 */
export type AnsweredOf<S extends ModelSignature> = string extends keyof S['outputs']
  ? Readonly<Record<string, TensorInput | null | undefined>>
  : { readonly [N in keyof S['outputs']]?: TensorInputOf<NonNullable<S['outputs'][N]>> | null | undefined };

/**
 * The outputs of one request by name. Each value has one of the forms that `infer` takes for an input, and is
 * checked against the configuration's outputs. The engine copies the bytes once, so a value may be a view of an
 * input. If an output that the caller asked for is missing, the request fails. `null` leaves an output out on
 * purpose.
 *
 * @example
 * const outputs: Outputs = { y: new Float32Array(16) };
 */
export type Outputs<M extends NameOrSignature = ModelSignature> = AnsweredOf<SignatureFor<M>>;

/**
 * The return value of `execute`: one result for each request, in the order of the requests, or a promise of
 * them. If one result is an `Error` or a rejected promise, only its request fails. A TritonError keeps its
 * code; any other error becomes INTERNAL.
 *
 * The result of a decoupled model may be an iterable, such as a generator: each item is one response, and the
 * end of the iterable ends the request. The server asks for the next item when the caller has at most 15 unread
 * responses. If the caller stops reading, the server calls the iterator's `return()`. A generator may return
 * `request.reschedule()`, and so may the model as a result itself: the request then runs again.
 *
 * @example
 * const results: Results = requests.map(({ inputs }) => ({ y: inputs.x }));
 */
export type Results<M extends NameOrSignature = ModelSignature> = readonly (
  ModelResult<M> | Rescheduled | PromiseLike<ModelResult<M> | Rescheduled>
)[];

/**
 * The result of one request; see {@link Results}.
 *
 * @example
 * const result: ModelResult = { y: new Float32Array(16) };
 */
export type ModelResult<M extends NameOrSignature = ModelSignature> =
  OneResult<M> | Iterable<OneResult<M> | PromiseLike<OneResult<M>>> | AsyncIterable<OneResult<M>>;

/** One response of a model. */
type OneResult<M extends NameOrSignature> = Outputs<M> | ParameterizedResult | Error;

/**
 * Writes to the server's `logger`. Each message begins with the model's name, which is also in the message's
 * context. Levels that the server's logger does not take (by default `info` and `verbose`) cost nothing. A
 * message of more than 16,384 characters is cut. At most 1,000 messages of a thread wait to be read by the
 * server; further messages are dropped, and their number is logged.
 *
 * @example
 * initialize({ logger }) {
 *   logger.info('the dictionary is loaded');
 * }
 */
export interface ModelLogger {
  /**
   * Logs a failure that no caller is told of. `error` is the reason; from a thread, its message and stack are
   * passed on.
   */
  error(message: string, error?: unknown): void;
  /** Logs a warning. */
  warn(message: string, error?: unknown): void;
  /** Logs an event worth knowing. */
  info(message: string, error?: unknown): void;
  /** Logs details. */
  verbose(message: string, error?: unknown): void;
}

/**
 * The argument of a model's `initialize`.
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
  /** The instance of the model that is initialised. `index` counts over all instance groups. */
  readonly instance: {
    readonly name: string;
    readonly index: number;
    readonly kind: string;
    readonly device: number;
  };
  /** Path of the version's folder; empty for models that the program passed in the option `models`. */
  readonly directory: string;
  /** Writes to the server's `logger`. */
  readonly logger: ModelLogger;
  /**
   * The server that the model belongs to; the model calls other models with it. In a thread it is that thread's
   * own connection, as {@link attachServer} makes, but it needs no `close()`. For a model on the program's
   * event loop it is the program's own server. In `initialize`, the models named in the parameter `requires`
   * are ready. The first read of this property connects; it throws UNAVAILABLE once the server is closed.
   * Triton: BLS.
   *
   * @example
   * initialize({ server }) {
   *   this.tokenizer = server.model('tokenizer');
   * }
   */
  readonly server: ModelServer;
}

/**
 * A model in JavaScript: an object with these functions, or an instance of a class that has them. Triton:
 * `TritonPythonModel`.
 *
 * @typeParam M - The model's name in {@link ModelRegistry}, or its signature (default: any signature). It types
 *   the inputs and results.
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
  /** Runs a batch. If it throws or rejects, all requests of the batch fail with INTERNAL. */
  execute(requests: readonly ModelRequest<M>[]): Results<M> | Promise<Results<M>>;
  /** Called when the model is unloaded, after its last batch has ended. */
  finalize?(): void | Promise<void>;
}

/**
 * A class of models. Each instance of the model is one object of this class, on its own thread.
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
   * Completes a configuration when the model is loaded: it may fill in `max_batch_size`, `input`, `output` and
   * `dynamic_batching` where they are not written. Triton: `auto_complete_config`.
   */
  completeConfig?(config: ModelConfig): ModelConfigInput | Promise<ModelConfigInput>;
}

/**
 * A backend in JavaScript, as {@link registerBackend} takes it. If it is a class, each instance of each model
 * is one object of it. If it is an object, that object serves all models.
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
 * A model that the program passes in the option `models`: its configuration together with its functions. It has
 * one instance, which runs on the event loop of the environment that creates the server.
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
 * A model that the program passes in the option `models` and that runs on its own threads, one for each
 * instance.
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
 * Options of the threads that run JavaScript models; they are the options of `worker_threads`.
 *
 * @example
 * const server = await createServer('./models', { workers: { resourceLimits: { maxOldGenerationSizeMb: 256 } } });
 */
export interface WorkersOptions {
  /**
   * Limits of each thread's heap, in MiB (default: none). A thread that exceeds a limit ends, and a new one is
   * started.
   */
  readonly resourceLimits?:
    | {
        readonly maxOldGenerationSizeMb?: number | undefined;
        readonly maxYoungGenerationSizeMb?: number | undefined;
        readonly codeRangeSizeMb?: number | undefined;
        readonly stackSizeMb?: number | undefined;
      }
    | undefined;
  /** `process.env` of the threads (default: a copy of the `process.env` of this environment). */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Node's command-line options for the threads (default: those of this environment). */
  readonly execArgv?: readonly string[] | undefined;
  /**
   * How long an unload or a reload waits for running requests, in milliseconds (default 30,000). After that
   * time the requests fail, and their thread is terminated, even in the middle of a loop. An unload of any model waits as
   * long for loads of that model that are under way, and then gives them up: they reject with CANCELLED.
   */
  readonly unloadTimeoutMs?: number | undefined;
}

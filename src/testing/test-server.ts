/** Servers for tests: the package's own server, with an engine in JavaScript that runs functions of the test. */

import { spareAddon } from '../addon/load.js';
import { bringFunctions } from '../addon/engine-functions.js';
import { checkKeys, checkObject, expected } from '../argument-checks.js';
import { backends } from '../backends/index.js';
import { createWith } from '../server/creation/create-server.js';
import { checkCloseOptions } from '../server/creation/server-arguments.js';
// A test server starts within milliseconds: what its creation needs is read with this module.
import * as creation from '../server/creation/creation.js';
import { TritonError } from '../errors.js';
import type { CloseOptions, InferenceServer, ModelObject, ServerOptions } from '../index.js';
import { globalClock, type TestClock } from './clock.js';
import { modelOf, type AnswerFunction, type TestModel } from './doubles.js';
import { TestEngine } from './engine/engine.js';
import { RecordList } from './record-list.js';
import type { RecordedRequest } from './records.js';
import { Script, type FailOptions } from './script.js';

/**
 * Options of {@link testServer}.
 *
 * @example
 * const server = await testServer({ modelRepository: './models', models: { digits: () => ({ scores: [[0, 1]] }) } });
 */
export interface TestServerOptions extends Pick<
  ServerOptions,
  'captureStacks' | 'id' | 'load' | 'loadModels' | 'logger' | 'modelControlMode' | 'strictReadiness'
> {
  /** The models by name: a function that answers each request, or one with its configuration. */
  readonly models: Readonly<Record<string, AnswerFunction | TestModel>>;
  /** The folder with the real models: the `config.pbtxt` of each is the configuration of its double, unless that has its own. */
  readonly modelRepository?: string | URL | undefined;
  /** The timers of delays (default: the global `setTimeout` at each use, so that a runner's fake timers count). */
  readonly clock?: TestClock | undefined;
  /**
   * How many bytes the recorded requests may have together (default 256 MiB). It is about the memory that they have: tensors,
   * parameters, ids, and what V8 adds to each, such as 112 bytes to an element of BYTES. Then the oldest ones are forgotten, and a warning of the process says so once. Infinity: no limit.
   */
  readonly maxRecordedBytes?: number | undefined;
}

const defaultRecordedBytes = 2 ** 28;
/**
 * How long clients may take to read their last answers once the server is closed, in milliseconds: the errors of calls that are cut
 * off would be lost otherwise. It is a part of the caller's time, and at most this share of it.
 */
const lastAnswersMs = 2000;
const lastAnswersShare = 1 / 4;

/**
 * Where a test server listens.
 *
 * @example
 * const { url } = await server.listen();
 */
export interface TestListener extends AsyncDisposable {
  /** The address for `connectServer`, and for other clients. */
  readonly url: string;
  /**
   * Stops listening. The close of the server does it, too.
   *
   * @param options - As for the server: how long the calls under way may take.
   */
  close(options?: CloseOptions): Promise<void>;
}

/**
 * A server of {@link testServer}: an {@link InferenceServer}, with what a test asks of it.
 *
 * @example
 * const server: TestServer = await testServer({ models });
 */
export interface TestServer extends InferenceServer {
  /**
   * The requests that came to a model (default: to all), in the order in which they came. They are recorded when the engine gets
   * them: after the code that sent them has yielded. They are as of this call. They are kept with their tensors until {@link reset},
   * within {@link TestServerOptions.maxRecordedBytes}.
   *
   * @throws {@link TritonError} NOT_FOUND for a name that no model has.
   */
  requests(model?: string): readonly RecordedRequest[];
  /**
   * Has requests of a model fail with an error: the next ones, or some at random.
   *
   * @param model - The model's name.
   * @param error - Its code, message and reason are those that callers see.
   * @param options - See {@link FailOptions}.
   * @throws {@link TritonError} INVALID_ARG for wrong options or an error of another class, NOT_FOUND for a name that no model has.
   *
   * @example
   * server.fail('digits', new TritonError('UNAVAILABLE', 'busy', { reason: 'QUEUE_FULL' }), { next: 2 });
   */
  fail(model: string, error: TritonError, options?: FailOptions): void;
  /**
   * Has each batch of a model take some time before the model runs, on the test's clock.
   *
   * @param ms - Milliseconds; 0: none.
   * @throws {@link TritonError} INVALID_ARG for another number, NOT_FOUND for a name that no model has.
   *
   * @example
   * server.delay('digits', 250);
   */
  delay(model: string, ms: number): void;
  /**
   * Keeps the requests of a model waiting, until {@link batch} or {@link release} lets them go.
   *
   * @throws {@link TritonError} NOT_FOUND for a name that no model has.
   */
  hold(model: string): void;
  /**
   * Ends {@link hold}: what waits runs, in the batches that the server forms.
   *
   * @throws {@link TritonError} NOT_FOUND for a name that no model has.
   */
  release(model: string): void;
  /**
   * Waits until some requests to a model wait, and runs them as one batch. No other batch of it is formed meanwhile.
   *
   * @param model - The model's name.
   * @param count - How many requests.
   * @returns Resolves when they have ended.
   * @throws {@link TritonError} INVALID_ARG for a batch that the server would not form: of a model without `dynamic_batching`, of
   *   more than `max_batch_size` rows or `max_queue_size` requests, of different shapes or priorities. NOT_FOUND for a name that no model has. CANCELLED if {@link reset} comes
   *   before so many requests wait, or the server is closed before they have ended.
   *
   * @example
   * const batch = server.batch('digits', 4);
   * const answers = Promise.all(images.map((image) => model.infer({ image }))); // four of them
   * await batch;
   */
  batch(model: string, count: number): Promise<void>;
  /** Forgets the recorded requests, and ends all failures, delays and holds: for a server that several tests share. */
  reset(): void;
  /**
   * Listens on a free port of this machine, for code that connects by URL.
   *
   * @param protocol - 'http' (the default) or 'grpc'.
   *
   * @example
   * const { url } = await server.listen();
   * const remote = await connectServer(url);
   */
  listen(protocol?: 'http' | 'grpc'): Promise<TestListener>;
}

const passed = [
  'captureStacks',
  'id',
  'load',
  'loadModels',
  'logger',
  'modelControlMode',
  'strictReadiness',
] as const;

/**
 * Starts a server whose models are functions of a test. It is the package's own server, with the same checks, errors and
 * endpoints, but its engine is JavaScript: neither the addon nor any runtime is loaded.
 *
 * @param options - See {@link TestServerOptions}.
 * @throws {@link TritonError} INVALID_ARG for wrong options or configurations, NOT_FOUND for a `config.pbtxt` that is not there.
 *
 * @example
 * await using server = await testServer({
 *   modelRepository: './models',
 *   models: { digits: ({ image }) => ({ scores: new Float32Array(10 * image.shape[0]) }) },
 * });
 * const { outputs } = await server.infer('digits', { image: new Float32Array(64) });
 * server.requests('digits').length; // 1
 */
export async function testServer(options: TestServerOptions): Promise<TestServer> {
  checkObject(options, 'options');
  checkKeys(options, [...passed, 'models', 'modelRepository', 'clock', 'maxRecordedBytes'], 'options');
  const { models, modelRepository, clock = globalClock, maxRecordedBytes = defaultRecordedBytes } = options;
  if (typeof (clock as Partial<TestClock> | null)?.setTimeout !== 'function')
    throw expected('an object with the function setTimeout', 'options.clock', clock);
  if (!(typeof (maxRecordedBytes as unknown) === 'number' && maxRecordedBytes >= 0))
    throw expected('bytes, 0 or more, or Infinity', 'options.maxRecordedBytes', maxRecordedBytes);
  checkObject(models, 'options.models');
  const given = Object.fromEntries(
    passed.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]]])),
  ) as Partial<ServerOptions>;
  const doubles = await Promise.all(
    Object.entries(models).map(async ([name, model]): Promise<readonly [string, ModelObject]> => [
      name,
      await modelOf(name, model, modelRepository),
    ]),
  );
  if (doubles.length === 0) throw expected('at least one model', 'options.models', models);
  spareAddon();
  const controls = new Controls(clock, maxRecordedBytes);
  const engine = new TestEngine((name) => controls.script(name), [...backends().keys()]);
  bringFunctions(engine, engine.functions);
  const server = await createWith(
    {
      ...given,
      models: Object.fromEntries(doubles),
      instanceKind: 'cpu',
      threads: 1,
      maxInFlightBytes: 2 ** 30,
    },
    () => engine,
    creation,
  );
  return controls.addTo(
    server,
    doubles.map(([name]) => name),
  );
}

/** What a test asks of its server. */
class Controls {
  readonly #clock: TestClock;
  readonly #scripts: Map<string, Script> = new Map();
  readonly #requests: RecordList;
  readonly #listeners: Set<TestListener> = new Set();

  constructor(clock: TestClock, maxRecordedBytes: number) {
    this.#clock = clock;
    this.#requests = new RecordList(maxRecordedBytes);
  }

  /** That of a model. */
  script(name: string): Script {
    const known = this.#scripts.get(name);
    if (known !== undefined) return known;
    const made = new Script(name, this.#clock, (request) => {
      this.#requests.add(request);
    });
    this.#scripts.set(name, made);
    return made;
  }

  addTo(server: InferenceServer, names: readonly string[]): TestServer {
    for (const name of names) this.script(name);
    const close = server.close.bind(server);
    let isClosing = false;
    let hasClosed = false;
    const known = (name: string): Script => {
      // A close waits for what the test holds.
      const script = isClosing ? this.#scripts.get(name) : undefined;
      if (script) return script;
      // The server's own error tells of unknown names, and of the end.
      server.model(name);
      return this.script(name);
    };
    const own: Omit<TestServer, keyof InferenceServer> & Pick<TestServer, 'close'> = {
      requests: (model) => {
        if (model !== undefined && !names.includes(model)) known(model);
        return this.#requests.of(model).map((one) => one.told);
      },
      fail: (model, error, options = {}) => {
        known(model).fail(error, options);
      },
      delay: (model, ms) => {
        known(model).setDelay(ms);
      },
      hold: (model) => {
        known(model).hold(true);
      },
      release: (model) => {
        known(model).hold(false);
      },
      batch: (model, count) => {
        try {
          return known(model).batch(count);
        } catch (error) {
          if (!(error instanceof TritonError)) throw error;
          return Promise.reject(error);
        }
      },
      reset: () => {
        this.#requests.clear();
        for (const script of this.#scripts.values()) script.reset();
      },
      listen: async (protocol) => {
        const listener = await listen(server, protocol ?? 'http');
        this.#listeners.add(listener);
        return listener;
      },
      close: async (options?: CloseOptions) => {
        const timeoutMs = checkCloseOptions(options);
        const listeners = [...this.#listeners];
        const lastMs = listeners.length === 0 ? 0 : Math.min(lastAnswersMs, lastAnswersShare * timeoutMs);
        const endMs = performance.now() + timeoutMs;
        isClosing ||= !hasClosed;
        try {
          // As `tritonts serve` does: endpoints answer until the end, also the requests that the close cancels.
          await close({ timeoutMs: timeoutMs - lastMs });
        } finally {
          const leftMs = Math.max(0, Math.min(lastAnswersMs, endMs - performance.now()));
          await Promise.all(listeners.map((listener) => listener.close({ timeoutMs: leftMs })));
          for (const script of this.#scripts.values()) script.closed();
          isClosing = false;
          hasClosed = true;
        }
      },
    };
    // It has the members of both, and is of the server's class, so that endpoints take it.
    return Object.assign(server, own);
  }
}

async function listen(server: InferenceServer, protocol: string): Promise<TestListener> {
  if (protocol !== 'http' && protocol !== 'grpc') throw expected("'http' or 'grpc'", 'listen', protocol);
  // Most tests need neither.
  const endpoint =
    protocol === 'http'
      ? await (await import('../endpoints/http/serve.js')).serveHttp(server, { port: 0 })
      : await (await import('../endpoints/grpc/serve.js')).serveGrpc(server, { port: 0 });
  const { host, port } = endpoint.address;
  return {
    url: `${protocol}://${host}:${port}`,
    close: (options) => endpoint.close(options),
    [Symbol.asyncDispose]: () => endpoint.close(),
  };
}

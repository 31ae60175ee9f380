/**
 * Answers what plug-ins and native programs ask about a server: descriptions, statistics, metrics, loads. The answers are
 * those of Triton's calls over HTTP, as JSON.
 */

import { addon } from '../../addon/load.js';
import type { NativeAddon } from '../../addon/native/addon.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { NativeStatus } from '../../addon/native/status.js';
import { statusNumber } from '../../addon/status.js';
import { printConfigJson } from '../../config/index.js';
import { invalidArgument, TritonError, unavailable } from '../../errors.js';
import { ignore, type Log } from '../../logger.js';
import { setTimeout } from '../../timers.js';
import type { ModelKey } from '../../model-key.js';
import type { InferenceServer } from '../inference-server.js';
import { ModelHandle } from '../models/model-handle.js';
import { extensionsOf } from '../reports/extensions.js';
import { tritonStatistics } from '../reports/statistics.js';

/** What a question is about; each kind has some of them. */
interface Arguments {
  /** The name of a model. */
  readonly model?: string;
  /** Of a model to wake. */
  readonly namespace?: string;
  /** Absent: the newest. */
  readonly version?: number;
  /** Whether only ready versions are listed. */
  readonly ready?: boolean;
  /** A configuration, as JSON text. */
  readonly config?: string;
  /** Whether the step models of an ensemble are unloaded with it. */
  readonly dependents?: boolean;
  /** The folder of a repository. */
  readonly path?: string;
  /** Names of models by the names of their folders. */
  readonly names?: Readonly<Record<string, string>>;
}

type Files = Readonly<Record<string, Uint8Array>>;

/** Answers at once. */
const told: Readonly<Record<string, (server: InferenceServer, asked: Arguments) => string>> = {
  serverMetadata: (server) => {
    const { name, version, extensions } = server.metadata();
    const control = extensions.includes('model_repository');
    return JSON.stringify({ name, version, extensions: extensionsOf({ control, trace: true, log: false }) });
  },
  modelMetadata: (server, asked) => JSON.stringify(handleOf(server, asked).metadata),
  modelConfig: (server, asked) => printConfigJson(handleOf(server, asked).config, 0),
  statistics: (server, { model, version }) =>
    JSON.stringify(tritonStatistics(server.statistics(model, version))),
  index: (server, { ready }) => JSON.stringify(server.index({ ready })),
  metrics: (server) => server.metrics(),
};

/** What questions need of the server's registry. */
export interface AskedRegistry {
  /** Loads a lazy model, unless it is served, for a model that may be the one that others wait for. */
  wake(key: ModelKey, isUrgent: true): Promise<void>;
  /** Calls a function. The load of a model waits for what it asks for before it returns. */
  asLoadOf<T>(name: string, call: () => T): T;
}

/** Does something that takes a while. */
const done: Readonly<
  Record<
    string,
    (server: InferenceServer, asked: Arguments, files: Files, registry: AskedRegistry) => Promise<unknown>
  >
> = {
  wake: (_server, { model: name = '', namespace = '' }, _files, registry) =>
    registry.wake({ namespace, name }, true),
  load: (server, { model = '', config }, files) =>
    server.loadModel(model, {
      ...(config !== undefined && { config }),
      ...(Object.keys(files).length > 0 && { files }),
    }),
  unload: (server, { model = '', dependents = false }) => unload(server, model, dependents),
  register: (server, { path = '', names }) => server.registerRepository(path, { names }),
  unregister: (server, { path = '' }) => server.unregisterRepository(path),
  poll: (server) => server.rescan(),
};

function handleOf(server: InferenceServer, { model = '', version }: Arguments): ModelHandle {
  const handle = server.model(model, version);
  if (handle instanceof ModelHandle) return handle;
  throw new TritonError('INTERNAL', `model '${model}': expected a server of this copy of the package`);
}

/** How often an unload looks whether it has begun, in milliseconds. */
const lookMs = 5;

/**
 * Unloads a model. Resolves, as in Triton, when the model accepts no more requests: a model may unload itself, and would
 * otherwise wait for its own run.
 */
async function unload(server: InferenceServer, model: string, unloadDependents: boolean): Promise<void> {
  let ended = false;
  const whole = server.unloadModel(model, { unloadDependents }).finally(() => {
    ended = true;
  });
  // What fails after the model has left was accepted.
  whole.catch(() => undefined);
  const left = async (): Promise<void> => {
    while (!ended && isReady(server, model))
      await new Promise((resolve) => {
        setTimeout(resolve, lookMs);
      });
    if (ended) await whole;
  };
  await Promise.race([whole, left()]);
}

function isReady(server: InferenceServer, model: string): boolean {
  try {
    return server.model(model).ready;
  } catch {
    // Nobody knows it, or the server closes: the unload itself tells.
    return true;
  }
}

function statusOf(error: unknown): NativeStatus {
  if (error instanceof TritonError)
    return { code: statusNumber(error.code, error.reason), message: error.message };
  return { code: statusNumber('INTERNAL', undefined), message: String(error) };
}

/**
 * Answers for a server until its engine is joined. A server that the program has dropped is not kept by it.
 *
 * @param strictReadiness - Whether it is ready only if all its models are.
 * @param registry - Loads lazy models, and knows which load waits for which. It does not keep the server.
 * @param reply - Takes the answers that come later.
 */
export function answerPlugins(
  native: Pick<NativeServer, 'ownPlugins'>,
  known: WeakRef<InferenceServer>,
  strictReadiness: boolean,
  log: Log,
  registry: AskedRegistry,
  reply: NativeAddon['answerPlugin'] = (...answer) => {
    addon().answerPlugin(...answer);
  },
): void {
  const answer = (
    kind: string,
    text: string,
    files: Files,
    number: number,
    asker: string,
  ): string | NativeStatus | undefined => {
    try {
      const server = known.deref();
      if (server === undefined) throw unavailable('CLOSED', 'the server is closed');
      // The engine has written this JSON.
      const asked = JSON.parse(text) as Arguments;
      const tell = told[kind];
      if (tell !== undefined) return tell(server, asked);
      const act = done[kind];
      if (act === undefined) throw invalidArgument(`unknown question '${kind}'`);
      if (number === 0) {
        throw unavailable(
          'CIRCULAR_CALL',
          `'${kind}' takes longer than a call, and this is the thread that does it: call it from another thread, or call the server's function in JavaScript`,
        );
      }
      const begin = (): Promise<unknown> => act(server, asked, files, registry);
      (asker === '' ? begin() : registry.asLoadOf(asker, begin)).then(
        () => {
          reply(number, 0, '');
        },
        (error: unknown) => {
          const { code, message } = statusOf(error);
          reply(number, code, message);
        },
      );
      return undefined;
    } catch (error) {
      return statusOf(error);
    }
  };
  // In the order of TRITONSERVER_LogLevel.
  const levels = [log.info, log.warn, log.error, log.verbose];
  const shown = levels.reduce((bits, level, i) => bits | (level === ignore ? 0 : 1 << i), 0);
  native.ownPlugins(strictReadiness, shown, answer, (level, message) => {
    levels[level]?.(message, {});
  });
}

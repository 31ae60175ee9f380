/**
 * The work of a model's thread. A task either completes a configuration, or starts the instance, which then serves
 * until it is closed. Piscina runs `src/server/creation/model-thread-entry.cts`, which calls this through
 * `model-thread.ts`.
 */

import type { MessagePort } from 'node:worker_threads';
import { addon } from '../../addon/load.js';
import type { ModelConfig, ModelConfigInput } from '../../config/index.js';
import { TritonError, unavailable } from '../../errors.js';
import { failureOf, textOf, type Failure } from '../batches/failures.js';
import { InstanceLoop } from './instance-loop.js';
import { importModel, initializeModel, makeModel } from './load-module.js';
import { portLogger, type levelsOf, type LoggedMessage } from '../model-logger.js';
import type { ModelServer } from '../../api/server.js';
import type { Connection } from '../model-server.js';
import type { JavaScriptModel } from '../../api/javascript-model.js';
import { prefixOutput } from '../prefixed-output.js';
import type { InstanceSpec } from '../versions/version-spec.js';

/** Asks for the model's own part of a configuration. */
export interface CompleteTask {
  readonly kind: 'complete';
  readonly model: string;
  readonly url: string;
  readonly config: ModelConfig;
}

/** A message of an instance's thread to its owner: a line of its log, the start of `finalize`, or its end. */
export type InstanceMessage =
  | { readonly logged: LoggedMessage }
  | { readonly logged?: undefined; readonly finalizing: true }
  | { readonly logged?: undefined; readonly finalizing?: undefined; readonly failure: Failure | undefined };

/** Starts an instance. `port` carries {@link InstanceMessage}. */
export interface ServeTask {
  readonly kind: 'serve';
  readonly url: string;
  readonly spec: InstanceSpec;
  /** The levels that the server's log does not ignore. */
  readonly levels: ReturnType<typeof levelsOf>;
  readonly port: MessagePort;
  /** For `context.server`; undefined if no models are served. */
  readonly connection: Connection | undefined;
}

/** The outcome of a task. */
export type TaskOutcome =
  | { readonly failure: Failure }
  | { readonly failure?: undefined; readonly completed?: ModelConfigInput | undefined };

/**
 * Connects this thread to its server. Returns undefined if the server is closed.
 *
 * @param caller - Returns the engine's number for calls without a parent; 0: none.
 */
export type Connect = (connection: Connection, caller: () => number) => ConnectedServer | undefined;

/** A thread's connection to its server. The thread closes it. */
export interface ConnectedServer extends ModelServer {
  close(options: { readonly timeoutMs: number }): Promise<void>;
}

/** Does a task. */
export async function work(task: CompleteTask | ServeTask, connect: Connect): Promise<TaskOutcome> {
  const model = task.kind === 'complete' ? task.model : task.spec.model;
  const progress = { step: 'the import', url: task.url };
  try {
    return task.kind === 'complete' ? await complete(task, progress) : await serve(task, connect, progress);
  } catch (error) {
    return { failure: failureOf(model, error, progress) };
  }
}

/** What a task is doing, for its error. */
interface Progress {
  step: string;
  readonly url: string;
}

async function complete({ model, url, config }: CompleteTask, progress: Progress): Promise<TaskOutcome> {
  const exported = await importModel(model, url);
  progress.step = 'completeConfig';
  if (!('completeConfig' in exported) || typeof exported.completeConfig !== 'function') return {};
  const completed: unknown = await exported.completeConfig(config);
  try {
    // The answer is cloned to the owner's thread.
    return { completed: structuredClone(completed) as ModelConfigInput | undefined };
  } catch (error) {
    const why = error instanceof Error ? error.message : textOf(error);
    const text = `model '${model}': expected completeConfig to return an object of plain values but it cannot be cloned: ${why}`;
    throw new TritonError('INVALID_ARG', text, { model });
  }
}

async function serve(
  { url, spec, levels, port, connection }: ServeTask,
  connect: Connect,
  progress: Progress,
): Promise<TaskOutcome> {
  prefixOutput(spec.instance.name);
  const { hostPolicy } = spec;
  const fault = hostPolicy === undefined ? '' : addon().bindThread(hostPolicy);
  if (fault !== '')
    throw new TritonError('INTERNAL', `model '${spec.model}': ${fault}`, { model: spec.model });
  const exported = await importModel(spec.model, url);
  progress.step = 'the constructor';
  const model = makeModel(exported);
  progress.step = 'initialize';
  let server: ConnectedServer | undefined;
  let running: InstanceLoop | undefined;
  await initializeModel(model, spec, portLogger(port, levels), () => {
    server ??= connection && connect(connection, () => running?.caller ?? 0);
    if (server) return server;
    throw unreachable(spec.model, connection !== undefined);
  });
  const loop = (running = new InstanceLoop(spec, model, true, addon()));
  loop.start();
  void end(loop, model, spec.model, port, () => server);
  return {};
}

/** Why a model cannot call others. */
export function unreachable(model: string, served: boolean): TritonError {
  const why = served ? 'the server is closed' : 'no models are served while a repository is checked';
  return unavailable(served ? 'CLOSED' : 'NOT_ALLOWED', `model '${model}': ${why}`, { model });
}

async function end(
  loop: InstanceLoop,
  model: JavaScriptModel,
  name: string,
  port: MessagePort,
  server: () => ConnectedServer | undefined,
): Promise<void> {
  await loop.ended;
  const begins: InstanceMessage = { finalizing: true };
  port.postMessage(begins);
  let failure: Failure | undefined;
  try {
    await model.finalize?.();
  } catch (error) {
    failure = failureOf(name, error);
  }
  await server()?.close({ timeoutMs: 0 });
  const message: InstanceMessage = { failure };
  port.postMessage(message);
  loop.detach();
}

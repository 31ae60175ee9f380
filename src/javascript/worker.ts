/**
 * What Piscina runs on a model's thread. A task either completes a configuration, or starts the instance,
 * which then serves until it is closed.
 */

import type { MessagePort } from 'node:worker_threads';
import type { ModelConfig, ModelConfigInput } from '../config/index.js';
import { failureOf, type Failure } from './failures.js';
import { InstanceLoop } from './instance-loop.js';
import { importModel, initializeModel, makeModel } from './load-module.js';
import type { JavaScriptModel } from './types.js';
import { prefixOutput } from './prefixed-output.js';
import type { InstanceSpec } from './version-spec.js';

/** Asks for the model's own part of a configuration. */
export interface CompleteTask {
  readonly kind: 'complete';
  readonly model: string;
  readonly url: string;
  readonly config: ModelConfig;
}

/** Starts an instance. `port` is told when it has ended. */
export interface ServeTask {
  readonly kind: 'serve';
  readonly url: string;
  readonly spec: InstanceSpec;
  readonly port: MessagePort;
}

/** What comes of a task. */
export type TaskOutcome =
  | { readonly failure: Failure }
  | { readonly failure?: undefined; readonly completed?: ModelConfigInput | undefined };

/** Does a task. */
export default async function work(task: CompleteTask | ServeTask): Promise<TaskOutcome> {
  const model = task.kind === 'complete' ? task.model : task.spec.model;
  try {
    return task.kind === 'complete' ? await complete(task) : await serve(task);
  } catch (error) {
    return { failure: failureOf(model, error) };
  }
}

async function complete({ model, url, config }: CompleteTask): Promise<TaskOutcome> {
  const exported = await importModel(model, url);
  if (!('completeConfig' in exported) || typeof exported.completeConfig !== 'function') return {};
  return { completed: await exported.completeConfig(config) };
}

async function serve({ url, spec, port }: ServeTask): Promise<TaskOutcome> {
  prefixOutput(spec.instance.name);
  const model = makeModel(await importModel(spec.model, url));
  await initializeModel(model, spec);
  const loop = new InstanceLoop(spec, model, true);
  loop.start();
  void end(loop, model, port);
  return {};
}

async function end(loop: InstanceLoop, model: JavaScriptModel, port: MessagePort): Promise<void> {
  await loop.ended;
  let failure: Failure | undefined;
  try {
    await model.finalize?.();
  } catch (error) {
    failure = failureOf('', error);
  }
  port.postMessage({ failure });
  loop.detach();
}

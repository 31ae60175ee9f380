/** Tells the log and `node:diagnostics_channel` what becomes of models. */

import { channel } from 'node:diagnostics_channel';
import type { TritonError } from '../../errors.js';
import { ignore, type Log } from '../../logger.js';
import { keyText, type ModelKey } from '../../model-key.js';

/** A message of the channels `tritonts:model:load`, `tritonts:model:unload` and `tritonts:model:fail`. */
export interface ModelMessage {
  /** Name of the model. */
  readonly model: string;
  /** The versions that are served now; of an unloaded or failed model, those that were served before. */
  readonly versions: readonly string[];
  /** Why it could not be loaded. */
  readonly error?: TritonError | undefined;
}

const load = channel('tritonts:model:load');
const unload = channel('tritonts:model:unload');
const fail = channel('tritonts:model:fail');

/** How many versions a text lists, and which. */
function versionsText(versions: readonly number[]): string {
  return `${versions.length === 1 ? 'version' : 'versions'} ${versions.join(', ')}`;
}

/** `0.012 s`, `12.3 s`. */
function secondsText(ms: number): string {
  const seconds = ms / 1000;
  return `${seconds.toFixed(seconds < 1 ? 3 : 1)} s`;
}

/** See the head of this file. */
export class ModelEvents {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /** A step of a load. */
  step(key: ModelKey, version: number | undefined, state: string): void {
    if (this.#log.verbose === ignore) return;
    const which = version === undefined ? '' : `, version ${version}`;
    this.#log.verbose(`model '${keyText(key)}'${which}: ${state}`, { model: key.name });
  }

  /**
   * A model is served.
   *
   * @param ms - How long its load took, its turn and its parts included.
   * @param notes - Only called if they are logged.
   */
  loaded(key: ModelKey, versions: readonly number[], ms: number, notes: () => readonly string[]): void {
    if (this.#log.info !== ignore) {
      const { name: model } = key;
      const text = `model '${keyText(key)}'`;
      this.#log.info(`${text}: ${versionsText(versions)} ready in ${secondsText(ms)}`, { model });
      for (const note of notes()) this.#log.info(`${text}: ${note}`, { model });
    }
    if (load.hasSubscribers) load.publish(messageOf(key, versions));
  }

  /** A load found that none of the model's files has changed. */
  unchanged(key: ModelKey, versions: readonly number[]): void {
    this.#log.info(
      `model '${keyText(key)}': none of its files has changed, so it is served as before: ${versionsText(versions)} (force: true loads it again)`,
      { model: key.name },
    );
  }

  /** A model was unloaded. `versions` were served. */
  unloaded(key: ModelKey, versions: readonly number[]): void {
    this.#log.info(`model '${keyText(key)}': unloaded`, { model: key.name });
    if (unload.hasSubscribers) unload.publish(messageOf(key, versions));
  }

  /**
   * A load failed.
   *
   * @param versions - The versions that go on being served.
   * @param isTold - Whether a call rejects with the error.
   */
  failed(key: ModelKey, error: TritonError, versions: readonly number[], isTold: boolean): void {
    const { name: model } = key;
    const isNamed = [model, keyText(key)].some((one) => error.message.includes(`model '${one}'`));
    const text = isNamed ? error.message : `model '${keyText(key)}': ${error.message}`;
    if (versions.length > 0) {
      this.#log.warn(`${text} (${versionsText(versions)} served as before)`, { model, error });
    } else {
      this.#log[isTold || error.code === 'CANCELLED' ? 'info' : 'error'](text, { model, error });
    }
    if (fail.hasSubscribers) fail.publish({ ...messageOf(key, versions), error });
  }
}

function messageOf({ name }: ModelKey, versions: readonly number[]): ModelMessage {
  return { model: name, versions: versions.map(String) };
}

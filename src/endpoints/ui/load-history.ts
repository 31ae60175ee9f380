/** Remembers what became of a server's models, for a page that is opened later. */

import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ModelMessage } from '../../registry/entries/model-events.js';
import type { InferenceServer } from '../../server/inference-server.js';
import { setImmediate } from '../../timers.js';

/** A change of a model's state, or a load. */
export interface LoadEntry {
  /** When it was noticed, as ISO 8601. */
  readonly time: string;
  readonly model: string;
  readonly version?: string | undefined;
  readonly state: string;
  readonly reason?: string | undefined;
  /** How long the load took, in seconds. */
  readonly seconds?: number | undefined;
}

/** Entries that are kept; the oldest ones go. */
const mostEntries = 200;

const channels = ['tritonts:model:load', 'tritonts:model:unload', 'tritonts:model:fail'] as const;

/** The load times of versions, from Prometheus' text. A model that is loaded again has another one. */
function loadTimes(metrics: string): Map<string, number> {
  const line = /^nv_model_load_duration_secs\{(.*)\} (\S+)$/gm;
  return new Map(
    [...metrics.matchAll(line)].map(([, labels = '', seconds]): [string, number] => {
      const label = (name: string): string =>
        (new RegExp(`(?:^|,)${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(labels)?.[1] ?? '').replace(
          /\\(.)/g,
          (_, sign: string) => (sign === 'n' ? '\n' : sign),
        );
      return [`${label('version')}/${label('model')}`, Number(seconds)];
    }),
  );
}

/**
 * See the head of this file. It compares the index and the load times with those before, whenever a model of this
 * thread was loaded or unloaded, and when it is asked.
 */
export class LoadHistory {
  readonly #server: InferenceServer;
  #entries: LoadEntry[] = [];
  /** Each version's last entry as text. */
  #known: Map<string, string> = new Map();

  constructor(server: InferenceServer) {
    this.#server = server;
    // The channels outlive the server.
    const self = new WeakRef(this);
    const listen = (message: unknown): void => {
      const history = self.deref();
      if (history === undefined) for (const name of channels) unsubscribe(name, listen);
      // The index is published after the event.
      else setImmediate(() => void history.#look(message as ModelMessage));
    };
    for (const name of channels) subscribe(name, listen);
    void this.#look();
  }

  /** @param message - What was published; undefined: nothing was. */
  async #look(message?: ModelMessage): Promise<void> {
    try {
      const { model, error } = message ?? {};
      if (model !== undefined && error !== undefined) this.#failed(model, error);
      this.compare(await this.#server.scrape());
    } catch {
      // The server was closed.
    }
  }

  /** Notes a failed load that the index does not show: of a served model, or with the same reason as before. */
  #failed(model: string, error: Error): void {
    const versions = this.#server.index().filter(({ name }) => name === model);
    // Another server of the process may have published it.
    if (versions.length === 0) return;
    const isNew = versions.some(({ version, state, reason }) => {
      const text = JSON.stringify([state, reason, undefined]);
      return state === 'UNAVAILABLE' && this.#known.get(`${version ?? ''}/${model}`) !== text;
    });
    if (!isNew)
      this.#add({ time: new Date().toISOString(), model, state: 'load failed', reason: error.message });
  }

  #add(entry: LoadEntry): void {
    this.#entries.push(entry);
    if (this.#entries.length > mostEntries) this.#entries = this.#entries.slice(-mostEntries);
  }

  /** Notes what has changed. */
  compare(metrics: string): readonly LoadEntry[] {
    const times = loadTimes(metrics);
    const known = new Map<string, string>();
    const time = new Date().toISOString();
    for (const { name: model, version, state, reason } of this.#server.index()) {
      // It was never loaded.
      if (state === undefined) continue;
      const key = `${version ?? ''}/${model}`;
      const seconds = state === 'READY' ? times.get(key) : undefined;
      const text = JSON.stringify([state, reason, seconds]);
      known.set(key, text);
      if (this.#known.get(key) !== text) this.#add({ time, model, version, state, reason, seconds });
    }
    this.#known = known;
    return this.#entries;
  }
}

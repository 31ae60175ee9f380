/** Takes versions out of service whose GPU is lost, and notes that pools of memory for GPUs are used up. */

import { lostGpus, usedUpPools } from '../addon/gpus.js';
import { TritonError } from '../errors.js';
import type { ModelEntry } from './model-entry.js';
import type { VersionDescriptor } from './published.js';

/** How often it is looked for lost GPUs while versions are on GPUs. What a lost GPU has fails at once anyway. */
const intervalMs = 250;

/** What this needs of the registry. */
export interface LostGpusHost {
  entries(): Iterable<ModelEntry>;
  /** Takes versions of a model out of service. */
  fail(entry: ModelEntry, uids: readonly number[], error: TritonError): void;
  warn(text: string): void;
}

/** Whether an instance of a version is on a GPU. */
function isOnGpu({ instances }: VersionDescriptor): boolean {
  return instances.some(({ kind }) => kind === 'KIND_GPU');
}

/** See the head of this file. */
export class LostGpus {
  readonly #host: LostGpusHost;
  #timer: NodeJS.Timeout | undefined;
  readonly #noted: Set<string> = new Set();

  constructor(host: LostGpusHost) {
    this.#host = host;
  }

  /** Looks from now on, as long as versions are on GPUs. Call it when one is served. */
  watch(): void {
    if (this.#timer || ![...this.#host.entries()].some((entry) => descriptorsOf(entry).some(isOnGpu))) return;
    // A server that its program drops ends, so the timer must not hold it.
    const weak = new WeakRef(this);
    const timer = setInterval(() => {
      const self = weak.deref();
      if (self === undefined) clearInterval(timer);
      else self.#look();
    }, intervalMs).unref();
    this.#timer = timer;
  }

  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    // Each once: the metrics count.
    for (const text of usedUpPools()) {
      if (this.#noted.has(text)) continue;
      this.#noted.add(text);
      this.#host.warn(text);
    }
    const lost = lostGpus();
    if (lost.size === 0) return;
    let left = false;
    for (const entry of this.#host.entries()) {
      const uids: number[] = [];
      let reason = '';
      for (const descriptor of descriptorsOf(entry)) {
        const on = descriptor.instances.find(({ kind, device }) => kind === 'KIND_GPU' && lost.has(device));
        if (on) uids.push(descriptor.uid);
        else left ||= isOnGpu(descriptor);
        if (on) reason = lost.get(on.device) ?? '';
      }
      if (uids.length === 0) continue;
      const { name: model } = entry;
      this.#host.fail(entry, uids, new TritonError('UNAVAILABLE', `model '${model}': ${reason}`, { model }));
    }
    if (!left) this.end();
  }
}

function descriptorsOf(entry: ModelEntry): VersionDescriptor[] {
  if (!entry.hasVersions) return [];
  return entry.published().versions.flatMap(({ descriptor }) => (descriptor ? [descriptor] : []));
}

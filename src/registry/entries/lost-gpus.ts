/**
 * Takes versions out of service whose GPUs are lost, tells of those that go on with other instances, and notes that
 * pools of memory for GPUs are used up.
 */

import { lostGpus, usedUpPools } from '../../addon/gpus.js';
import { type TritonError, unavailable } from '../../errors.js';
import { clearInterval, setInterval } from '../../timers.js';
import type { ModelEntry } from './model-entry.js';
import type { VersionDescriptor } from './published.js';

/** How often it is looked for lost GPUs while versions are on GPUs. What a lost GPU has fails at once anyway. */
const intervalMs = 250;

/** What this needs of the registry. */
export interface LostGpusHost {
  entries(): Iterable<ModelEntry>;
  /** Takes versions of a model out of service. */
  fail(entry: ModelEntry, uids: readonly number[], error: TritonError): void;
  /** Publishes reasons of versions that stay in service, by uid. */
  tell(entry: ModelEntry, reasons: ReadonlyMap<number, string>): void;
  warn(text: string): void;
}

/** The GPUs that a version has instances on. */
function gpusOf({ instances }: VersionDescriptor): number[] {
  return [...new Set(instances.flatMap(({ kind, device }) => (kind === 'KIND_GPU' ? [device] : [])))];
}

/** See the head of this file. */
export class LostGpus {
  readonly #host: LostGpusHost;
  #timer: NodeJS.Timeout | undefined;
  readonly #noted: Set<string> = new Set();
  /** What was told of versions that go on without some of their instances, by uid. */
  #told: ReadonlyMap<number, string> = new Map();

  constructor(host: LostGpusHost) {
    this.#host = host;
  }

  /** Looks from now on, as long as versions are on GPUs. Call it when versions of a model were loaded. */
  watch(entry: ModelEntry): void {
    // Only this model: to look at all of them would make many loads take quadratic time.
    if (this.#timer || !servedBy(entry).some(({ descriptor }) => gpusOf(descriptor).length > 0)) return;
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
    const told = new Map<number, string>();
    for (const entry of this.#host.entries()) {
      const failed: number[] = [];
      const reasons = new Map<number, string>();
      let reason = '';
      for (const { version, descriptor } of servedBy(entry)) {
        const { uid, instances } = descriptor;
        const gpus = gpusOf(descriptor);
        const gone = gpus.filter((id) => lost.has(id));
        left ||= gone.length < gpus.length;
        const [first] = gone;
        if (first === undefined) continue;
        reason = lost.get(first) ?? '';
        if (instances.every(({ kind, device }) => kind === 'KIND_GPU' && lost.has(device))) {
          failed.push(uid);
          continue;
        }
        const text = `it goes on without its instances on GPU ${gone.join(' and ')}: ${reason}`;
        told.set(uid, text);
        if (this.#told.get(uid) === text) continue;
        reasons.set(uid, text);
        this.#host.warn(`model '${entry.text}', version ${version}: ${text}`);
      }
      if (reasons.size > 0) this.#host.tell(entry, reasons);
      if (failed.length === 0) continue;
      const { name: model, text } = entry;
      this.#host.fail(entry, failed, unavailable('DEVICE_LOST', `model '${text}': ${reason}`, { model }));
    }
    this.#told = told;
    if (!left) this.end();
  }
}

/** The versions that are served. */
function servedBy(entry: ModelEntry): { version: number; descriptor: VersionDescriptor }[] {
  if (!entry.hasVersions) return [];
  return entry
    .published()
    .versions.flatMap(({ version, descriptor }) => (descriptor ? [{ version, descriptor }] : []));
}

/** The start of a server: the loads of all models that its options name, and of those that these need. */

import { TritonError, type TritonErrorOptions } from '../../errors.js';
import type { Wait } from '../../waits.js';
import { circularWait, type ModelEntry } from '../entries/model-entry.js';
import { noModelsError } from '../sources/find-models.js';
import type { ModelSource } from '../sources/model-source.js';
import { asTritonError } from './load-model.js';
import { throwFault, type LoadCall } from './load-reports.js';
import type { Loads, LoadsHost } from './loads.js';
import { reasonsText } from './shared-reasons.js';

/**
 * How many models are under way for each loader thread while a server starts: one that it loads and one that
 * waits for it. Some more are being read or completed meanwhile.
 */
const modelsPerLoader = 2;
const modelsAhead = 4;

/** See the head of this file. */
export class Startup {
  readonly #host: LoadsHost;
  readonly #loads: Loads;
  readonly #sources: readonly ModelSource[];
  /** The loads by model: an ensemble waits for those of its models. */
  readonly #starts: Map<ModelEntry, { readonly load: Promise<void>; readonly turn: Wait | undefined }> =
    new Map();
  readonly #call: LoadCall = {};
  /** The models that the options name. */
  readonly #asked: Set<ModelEntry> = new Set();

  constructor(host: LoadsHost, loads: Loads, sources: readonly ModelSource[]) {
    this.#host = host;
    this.#loads = loads;
    this.#sources = sources;
  }

  /**
   * Loads the models that the options name, and reports progress. See `Registry.loadAll`.
   *
   * @throws {@link TritonError} As `Registry.loadAll`.
   */
  async loadAll(): Promise<void> {
    const { server, options, entries } = this.#host;
    const { modelControlMode, loadModels, modelLoadConcurrency, exitOnError } = options;
    const all = modelControlMode !== 'explicit' || (loadModels.length === 1 && loadModels[0] === '*');
    const names = all ? entries.names() : [...new Set(loadModels)];
    const unknown = names.filter((name) => entries.named(name).length === 0);
    const models = names.flatMap((name) => entries.named(name));
    const count = models.length + unknown.length;
    // No model can be added later in this mode.
    if (modelControlMode === 'none' && count === 0) {
      const error = await noModelsError(this.#sources);
      if (exitOnError) throw error;
      options.log.warn(error.message, {});
    }
    this.#loads.expect(count);
    const failures = unknown.map((name) => this.#loads.refuseUnknown(name, this.#call));
    for (const entry of models) this.#asked.add(entry);
    // This is enough to keep the loader threads busy, and few enough for the event loop to get its turns.
    const left = models.values();
    const loadSome = async (): Promise<void> => {
      for (const entry of left) {
        try {
          // One that another model needs is loaded for that one.
          await this.#load(entry, undefined, { mayDefer: true });
        } catch (error) {
          failures.push(asTritonError(error, entry.name));
        }
      }
    };
    await Promise.all(Array.from({ length: modelLoadConcurrency * modelsPerLoader + modelsAhead }, loadSome));
    throwFault(this.#call);
    this.#loads.starting = false;
    this.#starts.clear();
    // They are not loaded again in this mode, and they may be large.
    if (modelControlMode === 'none')
      for (const entry of entries.values()) if (!entry.isLazy) entry.given = undefined;
    if (count > 0) {
      // Now nobody is served who would have to wait for this.
      await new Promise<void>((resolve) => {
        server.returnMemory(resolve);
      });
    }
    if (failures.length > 0 && exitOnError) throw failedLoads(failures, count);
  }

  /** Loads a model that another one needs. `load`, the load of that one, waits for it. */
  loadPart(entry: ModelEntry, load: Wait): Promise<void> {
    if (!this.#starts.has(entry) && !this.#asked.has(entry)) {
      this.#loads.expect(1);
      entry.isPart = true;
    }
    return this.#load(entry, load);
  }

  /** Loads a model once, however many models ask for it. `asker` waits for it. */
  async #load(entry: ModelEntry, asker?: Wait, how: { readonly mayDefer?: boolean } = {}): Promise<void> {
    const known = this.#starts.get(entry);
    if (known) {
      const { load, turn } = known;
      const circle = asker && turn?.circleWith(asker);
      if (circle !== undefined) throw circularWait('load', entry, circle);
      const end = turn && asker?.begin(turn);
      await load.finally(end);
      if (asker && entry.isLazy) await this.#loads.loadPart(entry, asker);
      return;
    }
    entry.refuseCircle('load', asker);
    const load = this.#loads.loadKnown(entry, this.#call, asker, how).then(() => undefined);
    this.#starts.set(entry, { load, turn: entry.last });
    await load;
  }
}

/** The error of a failed start. The message lists every failed model, and the cause has their errors. */
function failedLoads(failures: TritonError[], models: number): TritonError {
  failures.sort((a, b) => ((a.model ?? '') < (b.model ?? '') ? -1 : 1));
  const [first] = failures;
  const text = reasonsText(failures);
  const sameCode = failures.every(({ code }) => code === first?.code);
  const sameReason = failures.every(({ reason }) => reason === first?.reason);
  const options: TritonErrorOptions = {
    cause: new AggregateError(failures),
    reason: sameReason ? first?.reason : sameCode ? 'LOAD_FAILED' : undefined,
  };
  return new TritonError(
    sameCode ? (first?.code ?? 'INTERNAL') : 'INVALID_ARG',
    `${failures.length} of ${models} models could not be loaded (exitOnError: false serves the others):\n${text}`,
    failures.length === 1
      ? { ...options, model: first?.model, tensor: first?.tensor, location: first?.location }
      : options,
  );
}

/** The owner's side of a server: which models there are, and loading and unloading them. */

import type { NativeServer } from '../addon/native.js';
import { didYouMean } from '../suggest.js';
import { TritonError, type TritonErrorOptions } from '../errors.js';
import type { GivenModel, LoadEvent, ResolvedOptions } from '../options.js';
import { asTritonError, loadModel } from './load-model.js';
import { LoadReports, throwFault, type LoadCall } from './load-reports.js';
import { listModels } from './local-source.js';
import type { ModelFolder } from './model-folder.js';
import { ModelEntry } from './model-entry.js';
import {
  readGivenModel,
  readOverride,
  releaseOverride,
  type LoadModelOptions,
  type Override,
} from './override.js';
import { reasonsText } from './shared-reasons.js';
import { noModelsError } from './unfit-folder.js';

/**
 * So many models are under way at once while a server starts: for each loader thread one that it loads and one that
 * waits for it, and some that are read or completed meanwhile.
 */
const modelsPerLoader = 2;
const modelsAhead = 4;

/** See the head of this file. */
export class Registry {
  readonly #server: NativeServer;
  readonly #options: ResolvedOptions;
  readonly #entries: Map<string, ModelEntry> = new Map();
  readonly #reports: LoadReports;
  #givenUp = false;
  /** Nobody has the server yet, so nobody sees what is published of a model on its way. */
  #starting = true;

  constructor(server: NativeServer, options: ResolvedOptions) {
    this.#server = server;
    this.#options = options;
    this.#reports = new LoadReports(options.onProgress);
    for (const [name, given] of options.models) {
      this.#entries.set(name, new ModelEntry(server, name, [], given));
    }
  }

  /**
   * Looks which models the repositories hold; those that were unknown become known, not loaded.
   *
   * @throws {TritonError} When a repository cannot be read.
   */
  async scan(): Promise<void> {
    const found = new Map<string, ModelFolder[]>();
    for (const repository of this.#options.repositories) {
      for (const folder of await listModels(repository, () => this.#givenUp)) {
        const folders = found.get(folder.name);
        if (folders) folders.push(folder);
        else found.set(folder.name, [folder]);
      }
    }
    for (const [name, folders] of found) {
      const entry = this.#entries.get(name);
      if (entry) {
        entry.folders = folders;
      } else {
        this.#entries.set(name, new ModelEntry(this.#server, name, folders));
      }
    }
    for (const [name, entry] of this.#entries) {
      if (found.has(name)) continue;
      entry.folders = [];
      // Gone from the repository and never loaded: as if it had not been there.
      if (!entry.hasVersions && !entry.given) {
        this.#entries.delete(name);
        this.#server.withdraw(name);
      }
    }
  }

  /** Names of the models that are known, sorted. */
  names(): string[] {
    return [...this.#entries.keys()].sort();
  }

  /**
   * Loads what the options say, and reports progress.
   *
   * @throws {TritonError} With every model that failed in its message, and an AggregateError of them as its cause,
   *   where `exitOnError` says so; then also where there are no models, and none can be loaded later. What `onProgress` threw, with loading given up.
   */
  async loadAll(): Promise<void> {
    const { modelControlMode, loadModels, modelLoadConcurrency, exitOnError } = this.#options;
    const all = modelControlMode === 'none' || (loadModels.length === 1 && loadModels[0] === '*');
    const names = all ? this.names() : [...new Set(loadModels)];
    // All that there will ever be.
    if (modelControlMode === 'none' && names.length === 0 && exitOnError) {
      throw await noModelsError(this.#options.repositories);
    }
    this.#reports.expect(names.length);
    const failures: TritonError[] = [];
    const call: LoadCall = {};
    // Enough that loader threads always find something to do, and few enough that the loop gets its turns.
    const left = names.values();
    const loadSome = async (): Promise<void> => {
      for (const name of left) {
        try {
          await this.#loadKnown(name, call);
        } catch (error) {
          failures.push(asTritonError(error, name));
        }
      }
    };
    await Promise.all(Array.from({ length: modelLoadConcurrency * modelsPerLoader + modelsAhead }, loadSome));
    throwFault(call);
    this.#starting = false;
    // Nothing is loaded again then, and they may be large.
    if (modelControlMode === 'none') for (const entry of this.#entries.values()) entry.given = undefined;
    if (names.length > 0) {
      // Before anybody is served, who might have to wait for it.
      await new Promise<void>((resolve) => {
        this.#server.returnMemory(resolve);
      });
    }
    if (failures.length > 0 && exitOnError) throw failedLoads(failures, names.length);
  }

  /**
   * Loads a model, or loads it anew if its files have changed: the new versions take over when all of them are ready;
   * if one fails, what was served goes on.
   *
   * @param options - Are checked, and what they hold is copied, before this returns.
   * @throws {TritonError} INVALID_ARG for wrong options, NOT_FOUND for a model that no repository has, else the reason.
   *   What `onProgress` threw, when the load has ended.
   */
  async load(name: string, options: LoadModelOptions): Promise<void> {
    const override = readOverride(name, options);
    const call: LoadCall = {};
    try {
      await this.scan();
      // Whatever is given as bytes needs no repository.
      if (override?.files && !this.#entries.has(name)) {
        this.#entries.set(name, new ModelEntry(this.#server, name, []));
      }
      this.#reports.expect(1);
      await this.#loadKnown(name, call, override);
    } finally {
      releaseOverride(override);
      throwFault(call);
    }
  }

  /** Loads that have not begun fail with CANCELLED, for good. */
  giveUp(): void {
    this.#givenUp = true;
    this.#server.cancelLoads();
  }

  /** Unloads a model: it takes no more requests; resolves when the accepted ones have ended and its memory is free. */
  async unload(name: string): Promise<void> {
    const entry = this.#entries.get(name);
    // Like Triton: what is not there is unloaded.
    if (entry) await entry.inTurn(() => entry.unload());
  }

  /** Waits for loads and unloads that are under way. */
  async settled(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ settled }) => settled));
  }

  async #loadKnown(name: string, call: LoadCall, override?: Override): Promise<void> {
    try {
      const entry = this.#entries.get(name);
      if (!entry) {
        throw new TritonError(
          'NOT_FOUND',
          `model '${name}' is in no repository${didYouMean(name, this.#entries.keys())}: looked in ` +
            (this.#options.repositories.join(', ') || 'the models given, as there is none'),
          { model: name },
        );
      }
      const versions = await entry.inTurn(() => this.#load(entry, call, override));
      this.#reports.finish();
      for (const version of versions) this.#report(call, name, version, 'READY');
    } catch (error) {
      this.#reports.finish();
      this.#report(call, name, undefined, 'UNAVAILABLE');
      throw error;
    }
  }

  async #load(entry: ModelEntry, call: LoadCall, asked: Override | undefined): Promise<readonly number[]> {
    const given = entry.given && !asked?.files ? this.#given(entry, entry.given) : undefined;
    try {
      return await this.#loadWith(
        entry,
        call,
        given ? { ...given, ...(asked && { config: asked.config }) } : asked,
      );
    } finally {
      releaseOverride(given);
    }
  }

  #given({ name, folders }: ModelEntry, given: GivenModel): Override {
    const [folder] = folders;
    if (!folder) return readGivenModel(name, given);
    throw new TritonError(
      'INVALID_ARG',
      `model '${name}' is given as options.models['${name}'], and is in a repository, too: ${folder.file ?? folder.path}`,
      { model: name },
    );
  }

  #loadWith(entry: ModelEntry, call: LoadCall, override: Override | undefined): Promise<readonly number[]> {
    return loadModel(
      {
        server: this.#server,
        options: this.#options,
        seen: !this.#starting,
        throwIfGivenUp: (): void => {
          this.#throwIfGivenUp(entry.name);
        },
        report: (version, state): void => {
          this.#report(call, entry.name, version, state);
        },
      },
      entry,
      override,
    );
  }

  #throwIfGivenUp(model: string): void {
    if (this.#givenUp)
      throw new TritonError('CANCELLED', `model '${model}': loading was given up`, { model });
  }

  #report(call: LoadCall, model: string, version: number | undefined, state: LoadEvent['state']): void {
    if (!this.#reports.report(call, model, version, state) && this.#starting) this.giveUp();
  }
}

/** The error for a start that failed: its message lists every model, its cause has their errors. */
function failedLoads(failures: TritonError[], models: number): TritonError {
  failures.sort((a, b) => ((a.model ?? '') < (b.model ?? '') ? -1 : 1));
  const [first] = failures;
  const text = reasonsText(failures);
  const options: TritonErrorOptions = { cause: new AggregateError(failures) };
  const sameCode = failures.every(({ code }) => code === first?.code);
  return new TritonError(
    sameCode ? (first?.code ?? 'INTERNAL') : 'INVALID_ARG',
    `${failures.length} of ${models} models could not be loaded (exitOnError: false serves the others):\n${text}`,
    failures.length === 1
      ? { ...options, model: first?.model, tensor: first?.tensor, location: first?.location }
      : options,
  );
}

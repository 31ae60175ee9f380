/** The owner's side of a server: which models there are, and loading and unloading them. */

import type { NativeServer } from '../addon/native.js';
import { didYouMean } from '../suggest.js';
import { TritonError, type TritonErrorOptions } from '../errors.js';
import type { ProgressEvent, ResolvedOptions } from '../options.js';
import { loadVersion, retire } from './load-version.js';
import { listModels, readModel, type ModelFiles, type ModelFolder } from './local-source.js';
import { prepareModel } from './prepare-model.js';
import { filesOf, readOverride, releaseOverride, type LoadModelOptions, type Override } from './override.js';
import type { ModelState, PublishedModel, PublishedVersion, VersionDescriptor } from './published.js';

/** What the registry keeps of a model. */
interface Entry {
  readonly name: string;
  /** One folder of that name in each repository that has one. */
  folders: ModelFolder[];
  /** How often something was published of it. What that was is kept by the engine. */
  publications: number;
  /** Whether versions were in it the last time. */
  hasVersions: boolean;
  /** The files that the served versions came from. */
  stamp: string;
  /** Loads and unloads of a model follow each other. */
  queue: Promise<unknown>;
}

/**
 * So many models are under way at once while a server starts: for each loader thread one that it loads and one that
 * waits for it, and some that are read or completed meanwhile.
 */
const modelsPerLoader = 2;
const modelsAhead = 4;

/** What the listener of the progress threw, of one call; it is told nothing more of that call. */
interface Told {
  fault?: { readonly error: unknown };
}

/** The end of no load. */
const idle: Promise<void> = Promise.resolve();

/** What is published of a model that was never loaded. */
const unknown: PublishedModel = { state: '', reason: '', versions: [] };
const unknownText = JSON.stringify(unknown);

function asTritonError(error: unknown, model: string): TritonError {
  if (error instanceof TritonError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new TritonError('INTERNAL', `model '${model}': ${message}`, { model, cause: error });
}

/** See the head of this file. */
export class Registry {
  readonly #server: NativeServer;
  readonly #options: ResolvedOptions;
  readonly #entries: Map<string, Entry> = new Map();
  #done = 0;
  #total = 0;
  #givenUp = false;
  /** Nobody has the server yet, so nobody sees what is published of a model on its way. */
  #starting = true;

  constructor(server: NativeServer, options: ResolvedOptions) {
    this.#server = server;
    this.#options = options;
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
        this.#add(name, folders);
      }
    }
    for (const [name, entry] of this.#entries) {
      if (found.has(name)) continue;
      entry.folders = [];
      // Gone from the repository and never loaded: as if it had not been there.
      if (!entry.hasVersions) {
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
   *   where `exitOnError` says so. What `onProgress` threw, with loading given up.
   */
  async loadAll(): Promise<void> {
    const { modelControlMode, loadModels, modelLoadConcurrency, exitOnError } = this.#options;
    const all = modelControlMode === 'none' || (loadModels.length === 1 && loadModels[0] === '*');
    const names = all ? this.names() : [...new Set(loadModels)];
    this.#total += names.length;
    const failures: TritonError[] = [];
    const told: Told = {};
    // Enough that loader threads always find something to do, and few enough that the loop gets its turns.
    const left = names.values();
    const loadSome = async (): Promise<void> => {
      for (const name of left) {
        try {
          await this.#loadKnown(name, told);
        } catch (error) {
          failures.push(asTritonError(error, name));
        }
      }
    };
    await Promise.all(Array.from({ length: modelLoadConcurrency * modelsPerLoader + modelsAhead }, loadSome));
    throwFault(told);
    this.#starting = false;
    if (names.length > 0) {
      // Before anybody is served, who might have to wait for it.
      await new Promise<void>((resolve) => {
        this.#server.returnMemory(resolve);
      });
    }
    if (failures.length === 0 || !exitOnError) return;
    failures.sort((a, b) => ((a.model ?? '') < (b.model ?? '') ? -1 : 1));
    const [first] = failures;
    const text = failures.map((failure) => `  ${failure.model ?? ''}: ${failure.message}`).join('\n');
    const options: TritonErrorOptions = { cause: new AggregateError(failures) };
    const sameCode = failures.every(({ code }) => code === first?.code);
    throw new TritonError(
      sameCode ? (first?.code ?? 'INTERNAL') : 'INVALID_ARG',
      `${failures.length} of ${names.length} models could not be loaded (exitOnError: false serves the others):\n${text}`,
      failures.length === 1
        ? { ...options, model: first?.model, tensor: first?.tensor, location: first?.location }
        : options,
    );
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
    const told: Told = {};
    try {
      await this.scan();
      // Whatever is given as bytes needs no repository.
      if (override?.files && !this.#entries.has(name)) this.#add(name, []);
      this.#total++;
      await this.#loadKnown(name, told, override);
    } finally {
      releaseOverride(override);
      throwFault(told);
    }
  }

  #add(name: string, folders: ModelFolder[]): void {
    this.#entries.set(name, {
      name,
      folders,
      publications: 0,
      hasVersions: false,
      stamp: '',
      queue: idle,
    });
    this.#server.publish(name, unknownText);
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
    if (entry) await this.#inTurn(entry, () => this.#unload(entry));
  }

  /** Waits for loads and unloads that are under way. */
  async settled(): Promise<void> {
    await Promise.all([...this.#entries.values()].map(({ queue }) => queue));
  }

  #inTurn<T>(entry: Entry, task: () => Promise<T>): Promise<T> {
    const run = entry.queue.then(task);
    entry.queue = run.catch(() => undefined);
    return run;
  }

  async #loadKnown(name: string, told: Told, override?: Override): Promise<void> {
    try {
      const entry = this.#entries.get(name);
      if (!entry) {
        throw new TritonError(
          'NOT_FOUND',
          `model '${name}' is in no repository${didYouMean(name, this.#entries.keys())}: looked in ` +
            this.#options.repositories.join(', '),
          { model: name },
        );
      }
      const versions = await this.#inTurn(entry, () => this.#load(entry, told, override));
      this.#done++;
      for (const version of versions) this.#report(told, name, version, 'READY');
    } catch (error) {
      this.#done++;
      this.#report(told, name, undefined, 'UNAVAILABLE');
      throw error;
    }
  }

  /** Returns the versions that are served now. */
  async #load(entry: Entry, told: Told, override: Override | undefined): Promise<readonly number[]> {
    const { name } = entry;
    const before = this.#published(entry);
    const { publications } = entry;
    this.#report(told, name, undefined, 'LOADING');
    const loaded: { version: number; descriptor: VersionDescriptor }[] = [];
    try {
      this.#throwIfGivenUp(name);
      const folder = override?.files ? { name, path: name } : this.#folder(entry);
      // What was given in place of files is never 'unchanged'.
      const known = override || served(before).length === 0 ? '' : entry.stamp;
      let files: ModelFiles;
      let stamp = '';
      if (override?.files) {
        files = filesOf(override.files);
      } else {
        const read = await readModel(this.#server, folder, known);
        files = read;
        if (!override) stamp = read.stamp;
      }
      if (known !== '' && stamp === known) {
        // What failed to load meanwhile is gone again.
        const versions = before.versions.filter(({ state }) => state === 'READY');
        if (versions.length < before.versions.length) {
          this.#publish(entry, { state: '', reason: '', versions });
        }
        return served(before);
      }
      const { prepared, versions } = prepareModel(folder, files, this.#options, override?.config);
      if (!this.#starting) {
        const loading: PublishedVersion[] = versions
          .filter((version) => !served(before).includes(version))
          .map((version) => ({ version, state: 'LOADING', reason: '' }));
        this.#publish(entry, { state: '', reason: '', versions: merged(before.versions, loading) });
      }
      const results = await Promise.allSettled(
        versions.map(async (version) => {
          this.#throwIfGivenUp(name);
          this.#report(told, name, version, 'LOADING');
          const descriptor = await loadVersion(this.#server, this.#options, prepared, version, override);
          loaded.push({ version, descriptor });
        }),
      );
      const failed = results.flatMap((result, i) =>
        result.status === 'rejected'
          ? [{ version: versions[i] ?? 0, error: asTritonError(result.reason, name) }]
          : [],
      );
      const [first] = failed;
      if (first) {
        this.#publish(entry, {
          state: '',
          reason: '',
          versions: merged(
            before.versions,
            failed
              .filter(({ version }) => !served(before).includes(version))
              .map(({ version, error }) => ({ version, state: 'UNAVAILABLE', reason: error.message })),
          ),
        });
        throw first.error;
      }
      this.#publish(entry, {
        state: '',
        reason: '',
        versions: merged(
          [],
          loaded.map(({ version, descriptor }) => ({ version, state: 'READY', reason: '', descriptor })),
        ),
      });
      entry.stamp = stamp;
      // What was served before ends when its requests have ended; nobody waits for that.
      for (const { descriptor } of before.versions) if (descriptor) void retire(this.#server, descriptor.uid);
      return versions;
    } catch (error) {
      await Promise.all(loaded.map(({ descriptor }) => retire(this.#server, descriptor.uid)));
      const failure = asTritonError(error, name);
      if (entry.publications === publications && served(before).length === 0) {
        this.#publish(entry, { state: 'UNAVAILABLE', reason: failure.message, versions: [] });
      }
      throw failure;
    }
  }

  async #unload(entry: Entry): Promise<void> {
    const { state: before, versions } = this.#published(entry);
    const descriptors = versions.flatMap(({ descriptor }) => (descriptor ? [descriptor] : []));
    const without = (state: ModelState, reason: string): PublishedModel => ({
      state: versions.length === 0 && before !== '' ? 'UNAVAILABLE' : '',
      reason: versions.length === 0 && before !== '' ? 'unloaded' : '',
      versions: versions.map(({ version }) => ({ version, state, reason })),
    });
    this.#publish(entry, without('UNLOADING', ''));
    await Promise.all(descriptors.map(({ uid }) => retire(this.#server, uid)));
    entry.stamp = '';
    this.#publish(entry, without('UNAVAILABLE', 'unloaded'));
  }

  #folder(entry: Entry): ModelFolder {
    const [folder, second] = entry.folders;
    if (!folder) {
      throw new TritonError('NOT_FOUND', `model '${entry.name}' is no longer in the repository`, {
        model: entry.name,
      });
    }
    if (second) {
      throw new TritonError(
        'INVALID_ARG',
        `model '${entry.name}' appears in two or more repositories: ${entry.folders.map(({ path }) => path).join(', ')}`,
        { model: entry.name },
      );
    }
    return folder;
  }

  #publish(entry: Entry, published: PublishedModel): void {
    entry.publications++;
    entry.hasVersions = published.versions.length > 0;
    this.#server.publish(entry.name, JSON.stringify(published));
  }

  /** What was published last. */
  #published({ name, publications }: Entry): PublishedModel {
    if (publications === 0) return unknown;
    // Written by #publish.
    return JSON.parse(this.#server.read(name, -1)?.json ?? unknownText) as PublishedModel;
  }

  #throwIfGivenUp(model: string): void {
    if (this.#givenUp)
      throw new TritonError('CANCELLED', `model '${model}': loading was given up`, { model });
  }

  #report(
    told: Told,
    model: string,
    version: number | undefined,
    state: 'LOADING' | 'READY' | 'UNAVAILABLE',
  ): void {
    if (!this.#options.onProgress || told.fault) return;
    const event: ProgressEvent = {
      model,
      ...(version === undefined ? {} : { version: String(version) }),
      state,
      done: this.#done,
      total: this.#total,
    };
    try {
      this.#options.onProgress(event);
    } catch (error) {
      // It is for whoever called. A load that is under way goes on, whatever a listener does.
      told.fault = { error };
      if (this.#starting) this.giveUp();
    }
  }
}

/** @throws What a listener threw, in place of what a load ended with. */
function throwFault({ fault }: Told): void {
  if (fault) throw fault.error;
}

function served({ versions }: PublishedModel): number[] {
  return versions.filter(({ state }) => state === 'READY').map(({ version }) => version);
}

/** `versions` with those of the same number replaced and the rest added, ascending. */
function merged(
  versions: readonly PublishedVersion[],
  changed: readonly PublishedVersion[],
): PublishedVersion[] {
  const kept = versions.filter(({ version }) => !changed.some((other) => other.version === version));
  return [...kept, ...changed].sort((a, b) => a.version - b.version);
}

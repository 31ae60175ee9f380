/** The repositories that a program registers with a running server, and those that it takes away. */

import type { RegisterRepositoryOptions } from '../api/load-options.js';
import { checkObject, expected, readOptions } from '../argument-checks.js';
import { invalidArgument, TritonError } from '../errors.js';
import type { ResolvedOptions } from '../options.js';
import { repositoryOf } from '../resolve-options.js';
import { follow, orAborted } from '../signals.js';
import type { ModelEntries } from './entries/model-entries.js';
import type { ListedModel, ModelSource } from './sources/model-source.js';
import type { RepositoryNames } from './sources/repository-source.js';

/** What registrations need of their registry. */
export interface RepositoriesHost {
  readonly options: ResolvedOptions;
  readonly entries: ModelEntries;
  /** Aborted when the server closes. */
  readonly signal: AbortSignal;
  readonly sourceOf: (repository: string, names: RepositoryNames) => ModelSource;
}

/** A repository that the server knows. */
interface Known {
  readonly source: ModelSource;
  readonly names: ReadonlyMap<string, string>;
  /** Ends its first listing; undefined: that has ended. */
  listing?: AbortController | undefined;
}

/** See the head of this file. */
export class Repositories {
  readonly #host: RepositoriesHost;
  /** By its folder. */
  readonly #known: Map<string, Known>;

  /** @param sources - Those that the server begins with. */
  constructor(host: RepositoriesHost, sources: readonly ModelSource[]) {
    this.#host = host;
    this.#known = new Map(sources.map((source) => [source.place, { source, names: new Map() }]));
  }

  /**
   * Adds a repository. Its models become known, and none is loaded. See `InferenceServer.registerRepository`.
   *
   * @param given - A path, a file: URL, or the address of an object store.
   * @throws {@link TritonError} INVALID_ARG for wrong options and for a repository that cannot be listed, ALREADY_EXISTS
   *   for one that is known, and for a name that another folder has; CANCELLED if the server closes meanwhile, or the
   *   repository is taken away.
   */
  async register(given: unknown, options: unknown): Promise<void> {
    const { entries, signal, sourceOf, options: server } = this.#host;
    const { folder, text, namespace } = read(given, 'registerRepository');
    const models = readNames(options);
    // A relative path may mean another folder since the working directory has changed.
    const isTaken =
      server.modelNamespacing &&
      [...this.#known.values()].some(({ source }) => source.namespace === namespace);
    if (this.#known.has(folder) || isTaken) {
      const other = this.#known.has(folder)
        ? ''
        : `: that is the namespace of another folder; register '${folder}' by its whole path`;
      const fact = `model repository '${text}' has already been registered${other}`;
      throw new TritonError('ALREADY_EXISTS', fact);
    }
    this.#refuseTakenNames(models);
    const source = sourceOf(folder, { namespace: server.modelNamespacing ? namespace : undefined, models });
    const listing = new AbortController();
    const known: Known = { source, names: models, listing };
    this.#known.set(folder, known);
    const { signal: stop } = listing;
    const letGo = follow(listing, signal);
    try {
      // A file system may hang, whatever the signal says.
      const listed = await orAborted(entries.add(source, stop), stop);
      stop.throwIfAborted();
      known.listing = undefined;
      this.#tellAbsent(text, models, listed);
    } catch (error) {
      if (this.#known.get(folder) === known) this.#known.delete(folder);
      if (stop.aborted) {
        throw new TritonError('CANCELLED', `the registration of '${text}' was cancelled`, { cause: error });
      }
      if (!(error instanceof TritonError) || !['NOT_FOUND', 'INVALID_ARG'].includes(error.code)) throw error;
      throw invalidArgument(`failed to register '${text}', repository not found`, { cause: error });
    } finally {
      letGo();
    }
  }

  /**
   * Forgets a repository. What was loaded from it is served until it is unloaded. A registration under way ends.
   *
   * @param given - A path, a file: URL, or the address of an object store.
   * @throws {@link TritonError} INVALID_ARG for one that is not known.
   */
  unregister(given: unknown): void {
    const { folder, text } = read(given, 'unregisterRepository');
    const known = this.#known.get(folder);
    if (!known) throw invalidArgument(`failed to unregister '${text}', repository not found`);
    this.#known.delete(folder);
    known.listing?.abort();
    this.#host.entries.remove(known.source);
  }

  /** A folder that has a name may come later, or its name is misspelt. */
  #tellAbsent(text: string, names: ReadonlyMap<string, string>, models: readonly ListedModel[]): void {
    const found = new Set(models.flatMap(({ name, isRenamed }) => (isRenamed === true ? [name] : [])));
    for (const [folder, name] of names) {
      if (found.has(name)) continue;
      const warning = `model repository '${text}' has no folder '${folder}' so far, which is to be model '${name}'`;
      this.#host.options.log.warn(warning, { model: name });
    }
  }

  /** As in Triton, a name is for one folder of all repositories. */
  #refuseTakenNames(models: ReadonlyMap<string, string>): void {
    const taken = new Set([...this.#known.values()].flatMap(({ names }) => [...names.values()]));
    for (const name of models.values()) {
      if (taken.has(name)) {
        throw new TritonError(
          'ALREADY_EXISTS',
          `failed to register '${name}', there is a conflicting mapping for '${name}'`,
          { model: name },
        );
      }
      taken.add(name);
    }
  }
}

/** A repository that a program names, and the text by which messages name it. */
function read(
  given: unknown,
  path: string,
): { readonly folder: string; readonly text: string; readonly namespace: string } {
  let base = '';
  try {
    base = process.cwd();
  } catch {
    // The folder was removed: a relative path is refused.
  }
  const { folder, namespace } = repositoryOf(given, path, base);
  return { folder, namespace, text: given instanceof URL ? given.href : String(given) };
}

/** Whether a text may be the name of a model's folder, or of a model. */
function isName(name: unknown): name is string {
  return (
    typeof name === 'string' && name.trim() !== '' && name !== '.' && name !== '..' && !/[/\\\0]/.test(name)
  );
}

/** The names of models by their folders. */
function readNames(options: unknown): ReadonlyMap<string, string> {
  const { names = {} } = readOptions<RegisterRepositoryOptions>(options, ['names'], 'register options');
  checkObject(names, 'register options.names');
  const models = new Map<string, string>();
  for (const [folder, name] of Object.entries(names) as [string, unknown][]) {
    if (!isName(folder))
      throw expected(
        "names of folders in the repository, without '/', as keys",
        'register options.names',
        folder,
      );
    if (!isName(name))
      throw expected("a model's name, without '/',", `register options.names['${folder}']`, name);
    models.set(folder, name);
  }
  return models;
}

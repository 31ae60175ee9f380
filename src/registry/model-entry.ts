/** A model that a registry knows: its folders, what is published of it, and its turn to be loaded or unloaded. */

import type { NativeServer } from '../addon/native.js';
import { TritonError } from '../errors.js';
import type { GivenModel } from '../options.js';
import type { ModelFolder } from './model-folder.js';
import { retire } from './load-version.js';
import type { ModelState, PublishedModel, PublishedVersion } from './published.js';

/** The end of no load. */
const idle: Promise<void> = Promise.resolve();

/** What is published of a model that was never loaded. */
const unknown: PublishedModel = { state: '', reason: '', versions: [] };
const unknownText = JSON.stringify(unknown);

/** See the head of this file. */
export class ModelEntry {
  readonly name: string;
  /** One folder of that name in each repository that has one. */
  folders: readonly ModelFolder[];
  /** What the program gave in place of a folder. */
  given: GivenModel | undefined;
  /** The files that the served versions came from. */
  stamp = '';
  readonly #server: NativeServer;
  /** How often something was published of it. What that was is kept by the engine. */
  #publications = 0;
  #hasVersions = false;
  /** Loads and unloads of a model follow each other. */
  #queue: Promise<unknown> = idle;

  constructor(server: NativeServer, name: string, folders: readonly ModelFolder[], given?: GivenModel) {
    this.#server = server;
    this.name = name;
    this.folders = folders;
    this.given = given;
    server.publish(name, unknownText);
  }

  /** How often something was published of it. */
  get publications(): number {
    return this.#publications;
  }

  /** Whether versions were in what was published last. */
  get hasVersions(): boolean {
    return this.#hasVersions;
  }

  /** Resolves when its loads and unloads have ended; does not reject. */
  get settled(): Promise<unknown> {
    return this.#queue;
  }

  /** Runs a load or unload when those before it have ended. */
  inTurn<T>(task: () => Promise<T>): Promise<T> {
    const run = this.#queue.then(task);
    this.#queue = run.catch(() => undefined);
    return run;
  }

  /**
   * Its folder, of which there must be one.
   *
   * @throws {TritonError} NOT_FOUND or INVALID_ARG.
   */
  folder(): ModelFolder {
    const [folder, second] = this.folders;
    if (!folder) {
      throw new TritonError('NOT_FOUND', `model '${this.name}' is no longer in the repository`, {
        model: this.name,
      });
    }
    if (second) {
      throw new TritonError(
        'INVALID_ARG',
        `model '${this.name}' appears in two or more repositories: ${this.folders.map(({ path, file }) => file ?? path).join(', ')}`,
        { model: this.name },
      );
    }
    return folder;
  }

  /** Tells every environment what the model is now. */
  publish(published: PublishedModel): void {
    this.#publications++;
    this.#hasVersions = published.versions.length > 0;
    this.#server.publish(this.name, JSON.stringify(published));
  }

  /** What was published last. */
  published(): PublishedModel {
    if (this.#publications === 0) return unknown;
    // Written by publish().
    return JSON.parse(this.#server.read(this.name, -1)?.json ?? unknownText) as PublishedModel;
  }

  /** Ends all its versions; resolves when their requests have ended and their memory is free. */
  async unload(): Promise<void> {
    const { state: before, versions } = this.published();
    const descriptors = versions.flatMap(({ descriptor }) => (descriptor ? [descriptor] : []));
    const without = (state: ModelState, reason: string): PublishedModel => ({
      state: versions.length === 0 && before !== '' ? 'UNAVAILABLE' : '',
      reason: versions.length === 0 && before !== '' ? 'unloaded' : '',
      versions: versions.map(({ version }) => ({ version, state, reason })),
    });
    this.publish(without('UNLOADING', ''));
    await Promise.all(descriptors.map(({ uid }) => retire(this.#server, uid)));
    this.stamp = '';
    this.publish(without('UNAVAILABLE', 'unloaded'));
  }
}

/** Numbers of the versions that are served. */
export function servedVersions({ versions }: PublishedModel): number[] {
  return versions.filter(({ state }) => state === 'READY').map(({ version }) => version);
}

/** `versions` with those of the same number replaced and the rest added, ascending. */
export function mergedVersions(
  versions: readonly PublishedVersion[],
  changed: readonly PublishedVersion[],
): PublishedVersion[] {
  const kept = versions.filter(({ version }) => !changed.some((other) => other.version === version));
  return [...kept, ...changed].sort((a, b) => a.version - b.version);
}

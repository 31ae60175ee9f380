/** A model repository in an object store. Files are downloaded when a load needs them; the cache keeps them for the next one. */

import { createHash } from 'node:crypto';
import { maxConfigBytes, problemsError, tooManyBytes, unplaced } from '../../../config/index.js';
import { TritonError } from '../../../errors.js';
import type { Log } from '../../../logger.js';
import { defaultNamespace } from '../../../model-key.js';
import { printableLine } from '../../../printable.js';
import { givingWay } from '../../give-way.js';
import { configName, versionName } from '../layout.js';
import type {
  DownloadProgress,
  ListedModel,
  LocalFiles,
  ModelSource,
  StampedEntry,
  StampedFiles,
} from '../model-source.js';
import { CacheFolder, type WantedFile } from './cache-folder.js';
import { cachePlaceOf } from './cache-place.js';
import {
  entriesOfTree,
  filesOfVersions,
  foldersOfVersions,
  layoutOf,
  treeOf,
  whyNoName,
  type ModelTree,
} from './model-tree.js';
import type { StoredObject } from './object-store.js';
import { cancelled, StoreAccess } from './store-access.js';
import type { StorePlace } from './store-place.js';

/** How often progress is told, in milliseconds. */
const tellMs = 200;

/** How many files a message names. */
const mostNamed = 8;

/** What a source needs of a server's options. */
export interface StoreOptions {
  readonly repositoryCacheDirectory: string | undefined;
  readonly repositoryCacheBytes: number;
  readonly log: Log;
}

/** See the head of this file. */
export class StoreSource implements ModelSource {
  readonly place: string;
  readonly namespace: string = defaultNamespace;
  readonly #store: StorePlace;
  readonly #access: StoreAccess;
  readonly #cache: CacheFolder;
  readonly #log: Log;
  /** What was read of a model last: its load gets these objects, and no others. */
  readonly #read: WeakMap<ListedModel, ModelTree> = new WeakMap();
  /** Whether there were models once: without any the address may be wrong. */
  #wasListed = false;
  readonly #skipped: Set<string> = new Set();

  constructor(store: StorePlace, options: StoreOptions) {
    this.place = store.url;
    this.#store = store;
    this.#access = new StoreAccess(store);
    const place = cachePlaceOf(store.scheme, options.repositoryCacheDirectory, process.env);
    this.#log = options.log;
    this.#cache = CacheFolder.at(place, options.repositoryCacheBytes, (text) => {
      this.#log.warn(text, {});
    });
  }

  async list(signal: AbortSignal): Promise<readonly ListedModel[]> {
    const { prefix } = this.#store;
    const { objects, folders } = await this.#access.list(prefix, false, undefined, signal);
    if (!this.#wasListed && objects.length + folders.length === 0) {
      throw new TritonError(
        'INVALID_ARG',
        `model repository '${this.place}': repository path is not a valid directory: no object has a key that begins with '${prefix}'`,
      );
    }
    this.#wasListed = true;
    const names = folders
      .map((folder) => folder.slice(prefix.length, -1))
      .filter((name) => this.#isName(name));
    await this.#refuseModel(names, signal);
    return names.sort().map((name) => ({ name, path: `${this.place}/${name}` }));
  }

  async stamp(model: ListedModel, signal: AbortSignal): Promise<string> {
    return (await this.#treeOf(model, signal)).stamp;
  }

  async read(model: ListedModel, signal: AbortSignal): Promise<StampedFiles> {
    const tree = await this.#treeOf(model, signal);
    const object = tree.files.get(configName);
    const file = `${model.path}/${configName}`;
    if (object && object.size > maxConfigBytes) {
      throw problemsError([tooManyBytes(object.size)], unplaced(file), model.name);
    }
    const bytes = object && (await this.#access.bytes(object, model.name, signal));
    this.#read.set(model, tree);
    return { config: bytes && { file, bytes }, ...layoutOf(tree), stamp: tree.stamp };
  }

  async materialise(
    model: ListedModel,
    versions: readonly number[],
    signal: AbortSignal,
    progress?: DownloadProgress,
  ): Promise<LocalFiles> {
    const tree = this.#read.get(model) ?? (await this.#treeOf(model, signal));
    const counts = new Map<string, number>();
    let tell = (): void => undefined;
    const files: WantedFile[] = [];
    /** The files of which the store has no checksum. */
    const uncompared: string[] = [];
    // A digest is made for each.
    const step = givingWay(512);
    for (const [path, object] of await filesOfVersions(tree, versions)) {
      const turn = step();
      if (turn) await turn;
      const name = this.#nameOf(object);
      files.push({
        path,
        name,
        size: object.size,
        fetch: async (file, ended) => {
          const got = await this.#access.download(object, file, model.name, ended, (done) => {
            counts.set(name, done);
            tell();
          });
          if (!got.isCompared) uncompared.push(path);
          return got.sha256;
        },
      });
    }
    try {
      const missing = new Map((await this.#cache.missing(files)).map(({ name, size }) => [name, size]));
      const total = [...missing.values()].reduce((sum, size) => sum + size, 0);
      const sum = (): number => [...counts.values()].reduce((all, done) => all + done, 0);
      let toldAt = performance.now();
      if (missing.size > 0) progress?.(0, total);
      tell = () => {
        const now = performance.now();
        if (now - toldAt < tellMs) return;
        toldAt = now;
        progress?.(sum(), total);
      };
      const made = await this.#cache.folderOf(files, signal, foldersOfVersions(tree, versions));
      if (missing.size > 0) progress?.(total, total);
      if (uncompared.length > 0) this.#log.info(uncomparedText(model, uncompared), { model: model.name });
      return made;
    } catch (error) {
      if (signal.aborted) throw cancelled(`model '${model.name}': '${model.path}'`, model.name);
      throw error;
    }
  }

  entriesOf(_model: ListedModel, stamp: string): Promise<readonly StampedEntry[]> {
    return entriesOfTree(stamp);
  }

  async #treeOf(model: ListedModel, signal: AbortSignal): Promise<ModelTree> {
    // The program may have another name for the model than its folder has.
    const folder = model.path.slice(this.place.length + 1);
    const prefix = `${this.#store.prefix}${folder}/`;
    const { objects } = await this.#access.list(prefix, true, model.name, signal);
    if (objects.length === 0) {
      const text = `model '${model.name}': '${model.path}' is gone: no object has a key that begins with '${prefix}'`;
      throw new TritonError('NOT_FOUND', text, { model: model.name });
    }
    return await treeOf(model.name, prefix, objects);
  }

  /** The name of an object in the cache. What may write one place cannot put anything in the way of another one. */
  #nameOf({ key, size, stamp }: StoredObject): string {
    const { scheme, endpoint, account, bucket } = this.#store;
    const place = [scheme, endpoint ?? '', account ?? '', bucket, key, stamp, size];
    return createHash('sha256').update(JSON.stringify(place)).digest('hex');
  }

  /** Hidden folders are no models, as elsewhere. A name that is none of a folder is told of once. */
  #isName(name: string): boolean {
    const why = whyNoName(name);
    if (why === undefined) return !name.startsWith('.');
    if (!this.#skipped.has(name)) {
      this.#skipped.add(name);
      this.#log.warn(
        `model repository '${this.place}': keys that begin with '${printableLine(this.#store.prefix + name)}/' are left out: ${why}`,
        {},
      );
    }
    return false;
  }

  /** @throws {@link TritonError} INVALID_ARG for a model's own folder: its versions would be taken for models. */
  async #refuseModel(names: readonly string[], signal: AbortSignal): Promise<void> {
    const [first] = names;
    if (first === undefined || !names.every((name) => versionName.test(name))) return;
    // A model may be called 1. It then has versions or a configuration.
    const prefix = `${this.#store.prefix}${first}/`;
    const { objects, folders } = await this.#access.list(prefix, false, undefined, signal);
    const isModel =
      objects.some(({ key }) => key === `${prefix}${configName}`) ||
      folders.some((folder) => versionName.test(folder.slice(prefix.length, -1)));
    if (isModel) return;
    const parent = this.place.slice(0, this.place.lastIndexOf('/'));
    throw new TritonError('INVALID_ARG', `'${this.place}' is a model's folder. Pass its parent '${parent}'`);
  }
}

/** What the log says of downloads that were compared with nothing but their sizes. */
function uncomparedText({ name, path }: ListedModel, files: readonly string[]): string {
  const shown = [...files].sort().slice(0, mostNamed).map(printableLine);
  const rest = files.length > shown.length ? `, and ${files.length - shown.length} more` : '';
  return `model '${name}': the store has no checksum that can be computed of these files of '${path}', so only their sizes were compared: ${shown.join(', ')}${rest}`;
}

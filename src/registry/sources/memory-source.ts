/** A source with one model, whose files are in memory because a program gave them. */

import { defaultNamespace } from '../../model-key.js';
import { configName, misnamedConfig, versionName, versionsAmong } from './layout.js';
import type {
  GivenFiles,
  ListedModel,
  LocalFiles,
  ModelFiles,
  ModelSource,
  StampedFiles,
} from './model-source.js';

/** See the head of this file. A load makes one, and releases the files when it has ended: the engine has its own then. */
export class MemorySource implements ModelSource {
  readonly place: string;
  readonly namespace: string = defaultNamespace;
  readonly model: ListedModel;
  readonly #files: GivenFiles | undefined;

  /** @param files - Undefined if the program gave code, which has no files: the model then has version 1. */
  constructor(name: string, files: GivenFiles | undefined) {
    this.place = name;
    this.model = { name, path: name };
    this.#files = files;
  }

  list(): Promise<readonly ListedModel[]> {
    return Promise.resolve([this.model]);
  }

  /** Files that are given again count as changed: nobody compares their bytes. */
  stamp(): Promise<string> {
    return Promise.resolve('');
  }

  read(): Promise<StampedFiles> {
    const files = this.#files
      ? filesOf(this.#files)
      : { config: undefined, versions: [1], firstVersionEntries: [] };
    return Promise.resolve({ ...files, stamp: '' });
  }

  materialise(): Promise<LocalFiles> {
    return Promise.resolve({ directory: this.model.path, files: this.#files });
  }
}

/** The files as the content of a model's folder. A configuration among them was read when they were given. */
function filesOf(files: GivenFiles): ModelFiles {
  const folders = new Map<string, Map<string, boolean>>();
  for (const path of files.keys()) {
    const [folder = '', name, ...rest] = path.split('/');
    if (name === undefined) continue;
    const entries = folders.get(folder) ?? new Map<string, boolean>();
    folders.set(folder, entries.set(name, rest.length > 0));
  }
  const names = [...folders.keys()].sort();
  const misnamed = [...files.keys()].find((path) => path !== configName && misnamedConfig.test(path));
  return {
    config: undefined,
    ...(misnamed !== undefined && { misnamedConfig: misnamed }),
    versions: versionsAmong(names),
    firstVersionEntries: [...(folders.get(names.find((name) => versionName.test(name)) ?? '') ?? [])].map(
      ([name, isDirectory]) => ({
        name,
        isDirectory,
      }),
    ),
  };
}

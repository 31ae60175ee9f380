/** A model repository in a folder of this machine. Its models are opened where they lie. */

import type { NativeServer } from '../../../addon/native/server.js';
import type { TritonError } from '../../../errors.js';
import { defaultNamespace } from '../../../model-key.js';
import type {
  ListedModel,
  LocalFiles,
  ModelSource,
  NoModels,
  StampedEntry,
  StampedFiles,
} from '../model-source.js';
import { digestOf } from './digest-file.js';
import { folderTurns } from './folder-turns.js';
import { LinkRoots, type LinkOptions } from './link-roots.js';
import { isModelGone, listModels } from './list-models.js';
import { readModel, stampOf } from './read-model.js';
import { entriesOf } from './stamped-entries.js';
import { noVersionError, whyNoModels } from './unfit-folder.js';

/** See the head of this file. Loader threads read the folders, and the engine cancels what they do; a listing looks at the signal. */
export class FolderSource implements ModelSource {
  readonly place: string;
  readonly namespace: string = defaultNamespace;
  readonly #server: NativeServer;
  readonly #links: LinkRoots;

  constructor(server: NativeServer, repository: string, links: LinkOptions) {
    this.#server = server;
    this.place = repository;
    this.#links = new LinkRoots(repository, links);
  }

  async list(signal: AbortSignal): Promise<readonly ListedModel[]> {
    const models = await this.#inTurn(() => listModels(this.place, () => signal.aborted), signal);
    this.#links.keep(models);
    return models;
  }

  stamp(model: ListedModel, signal: AbortSignal): Promise<string> {
    const stamp = (): Promise<string> => stampOf(this.#server, model, this.#links);
    return model.file === undefined ? stamp() : this.#inTurn(stamp, signal);
  }

  read(model: ListedModel, signal: AbortSignal): Promise<StampedFiles> {
    const read = (): Promise<StampedFiles> => readModel(this.#server, model, this.#links);
    return model.file === undefined ? read() : this.#inTurn(read, signal);
  }

  /** What takes a thread of the process, and not of the loaders. */
  #inTurn<T>(look: () => Promise<T>, signal: AbortSignal): Promise<T> {
    return folderTurns.run(this.place, look, signal);
  }

  materialise({ path, file }: ListedModel): Promise<LocalFiles> {
    return Promise.resolve({ directory: path, file });
  }

  async isGone(model: ListedModel, signal: AbortSignal): Promise<boolean> {
    return model.file === undefined && (await this.#inTurn(() => isModelGone(model), signal));
  }

  async entriesOf({ file }: ListedModel, stamp: string): Promise<readonly StampedEntry[] | undefined> {
    return file === undefined ? await entriesOf(stamp) : undefined;
  }

  digest(model: ListedModel, entry: StampedEntry, signal: AbortSignal): Promise<string | undefined> {
    return digestOf(model, entry, signal);
  }

  whyNoModels(): Promise<NoModels> {
    return whyNoModels(this.place);
  }

  whyNoVersions(model: ListedModel, file: string | undefined): Promise<TritonError> {
    return noVersionError(model, file);
  }
}

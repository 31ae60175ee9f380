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
import { isModelGone, listModels } from './list-models.js';
import { readModel, stampOf } from './read-model.js';
import { entriesOf } from './stamped-entries.js';
import { noVersionError, whyNoModels } from './unfit-folder.js';

/** See the head of this file. Loader threads read the folders, and the engine cancels what they do; a listing looks at the signal. */
export class FolderSource implements ModelSource {
  readonly place: string;
  readonly namespace: string = defaultNamespace;
  readonly #server: NativeServer;

  constructor(server: NativeServer, repository: string) {
    this.#server = server;
    this.place = repository;
  }

  list(signal: AbortSignal): Promise<readonly ListedModel[]> {
    return listModels(this.place, () => signal.aborted);
  }

  stamp(model: ListedModel): Promise<string> {
    return stampOf(this.#server, model);
  }

  read(model: ListedModel): Promise<StampedFiles> {
    return readModel(this.#server, model);
  }

  materialise({ path, file }: ListedModel): Promise<LocalFiles> {
    return Promise.resolve({ directory: path, file });
  }

  async isGone(model: ListedModel): Promise<boolean> {
    return model.file === undefined && (await isModelGone(model));
  }

  entriesOf({ file }: ListedModel, stamp: string): readonly StampedEntry[] | undefined {
    return file === undefined ? entriesOf(stamp) : undefined;
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

/** A source as a repository of a server: its namespace, and the names under which the program wants some of its models. */

import type { TritonError } from '../../errors.js';
import { defaultNamespace } from '../../model-key.js';
import type {
  DownloadProgress,
  ListedModel,
  LocalFiles,
  ModelSource,
  NoModels,
  StampedEntry,
  StampedFiles,
} from './model-source.js';

/** What a program says of a repository. */
export interface RepositoryNames {
  /** The namespace of its models (default: the default one). */
  readonly namespace: string | undefined;
  /** The names of models by their folders (default: each has the name of its folder). */
  readonly models?: ReadonlyMap<string, string> | undefined;
}

/** See the head of this file. All else is the inner source's. */
export class RepositorySource implements ModelSource {
  readonly place: string;
  readonly namespace: string;
  readonly #inner: ModelSource;
  readonly #names: ReadonlyMap<string, string>;
  // The registry asks whether a source has these.
  readonly isGone?: (model: ListedModel, signal: AbortSignal) => Promise<boolean>;
  readonly entriesOf?: (model: ListedModel, stamp: string) => Promise<readonly StampedEntry[] | undefined>;
  readonly digest?: (
    model: ListedModel,
    entry: StampedEntry,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  readonly whyNoModels?: () => Promise<NoModels>;
  readonly whyNoVersions?: (model: ListedModel, file: string | undefined) => Promise<TritonError>;

  constructor(inner: ModelSource, { namespace = defaultNamespace, models = new Map() }: RepositoryNames) {
    this.place = inner.place;
    this.namespace = namespace;
    this.#inner = inner;
    this.#names = models;
    if (inner.isGone) this.isGone = inner.isGone.bind(inner);
    if (inner.entriesOf) this.entriesOf = inner.entriesOf.bind(inner);
    if (inner.digest) this.digest = inner.digest.bind(inner);
    if (inner.whyNoModels) this.whyNoModels = inner.whyNoModels.bind(inner);
    if (inner.whyNoVersions) this.whyNoVersions = inner.whyNoVersions.bind(inner);
  }

  async list(signal: AbortSignal): Promise<readonly ListedModel[]> {
    const models = await this.#inner.list(signal);
    if (this.#names.size === 0) return models;
    return models
      .map((model): ListedModel => {
        const name = this.#names.get(model.name);
        return name === undefined ? model : { ...model, name, isRenamed: true };
      })
      .sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  stamp(model: ListedModel, signal: AbortSignal): Promise<string> {
    return this.#inner.stamp(model, signal);
  }

  read(model: ListedModel, signal: AbortSignal): Promise<StampedFiles> {
    return this.#inner.read(model, signal);
  }

  materialise(
    model: ListedModel,
    versions: readonly number[],
    signal: AbortSignal,
    progress?: DownloadProgress,
  ): Promise<LocalFiles> {
    return this.#inner.materialise(model, versions, signal, progress);
  }
}

/**
 * Where models come from: the interface between the registry and folders, memory, or a store in a network. The registry
 * opens no file by itself. It asks a source what there is, and has the files of a load made local.
 */

import type { NativeBytes } from '../../addon/native/folder.js';
import type { TritonError } from '../../errors.js';

/** A model as its source lists it. The source gets the same object back. */
export interface ListedModel {
  readonly name: string;
  /** The folder of its files, as messages name it. Only the source opens it. */
  readonly path: string;
  /** The single file that is the whole model, if it has no folder of its own. */
  readonly file?: string | undefined;
  /** Whether the program gave it this name: it replaces the one in its configuration. */
  readonly isRenamed?: boolean;
}

/** A model and the source that listed it. */
export interface FoundModel {
  readonly source: ModelSource;
  readonly model: ListedModel;
}

/** What decides how a model is loaded: its configuration, and which versions there are. */
export interface ModelFiles {
  /** Name of config.pbtxt for messages, and its bytes; undefined if there is none. */
  readonly config: { readonly file: string; readonly bytes: Uint8Array } | undefined;
  /** Numbers of the version folders, ascending. */
  readonly versions: readonly number[];
  /** Entries of the first version that has any, by name, from which the backend is inferred, as in Triton. */
  readonly firstVersionEntries: readonly { readonly name: string; readonly isDirectory: boolean }[];
  /** Where there is no config.pbtxt: a file that was probably meant to be it. */
  readonly misnamedConfig?: string | undefined;
}

/** The same with the stamp of the files that were read. */
export interface StampedFiles extends ModelFiles {
  /** As {@link ModelSource.stamp}. Empty if there is nothing to compare with: the model always counts as changed. */
  readonly stamp: string;
}

/** A file or folder of a model, as a stamp tells of it. */
export interface StampedEntry {
  /** In the model's folder, with `/` as separator. */
  readonly path: string;
  /** Of a file; undefined for a folder and for what leads nowhere. */
  readonly size: number | undefined;
  /** The same text for the same file, as long as nobody writes to it. */
  readonly stamp: string;
  /** What a link to a folder leads to. Only one of several links to a folder shows what it holds. */
  readonly target?: string | undefined;
  /** Whether it is a link that leads nowhere, or to where nobody may look. */
  readonly isLost?: boolean;
}

/** Files in memory by their path in the model's folder, with `/` as separator. */
export type GivenFiles = ReadonlyMap<string, NativeBytes>;

/** Files of a model where a load can open them: on this machine, or in memory. */
export interface LocalFiles {
  /** The model's folder: `<directory>/<version>/<file>`. With `files` it is a name for messages and is not opened. */
  readonly directory: string;
  /** The single file that is the whole model, if it has no folder of its own. */
  readonly file?: string | undefined;
  /** The files as bytes, in place of the folder. They stay the source's. */
  readonly files?: GivenFiles | undefined;
  /**
   * Removes what was made for the load. It is called once, when no version needs the files any more: after a failed
   * load, when the versions are unloaded or replaced, and when the server closes. What it throws is ignored, because
   * the versions have ended by then. Undefined: there is nothing to remove.
   */
  readonly release?: (() => Promise<void>) | undefined;
}

/** Called while files are downloaded, with bytes: at first, then from time to time, and at the end. */
export type DownloadProgress = (done: number, total: number) => void;

/** Why a source has no models, for the error about it. */
export interface NoModels {
  /** What was expected and what there is instead, without a stop at its end. */
  readonly fact: string;
  /** Where the file of a model could be; undefined if the fact says already what to give instead. */
  readonly example: string | undefined;
}

/**
 * A place with models: a repository's folder, or anything else that has Triton's layout.
 *
 * All functions may be slow and may be called at the same time, for one model and for several. They keep nothing that the
 * registry would have to free, besides what `materialise` makes. A {@link TritonError} that one throws reaches the user
 * as it is; anything else becomes INTERNAL with the model's or the source's name in front.
 *
 * Each takes a signal, which is aborted when the server closes or loading is cancelled. A function may go on then: its
 * result is not used, and what it materialised is released.
 */
export interface ModelSource {
  /** How messages name it: a path, an address. */
  readonly place: string;

  /** The namespace of its models. Sources of the same namespace must have models of different names. */
  readonly namespace: string;

  /**
   * The models that there are, by name. Called when a server starts and before each load, so it should ask for no more than
   * names.
   *
   * @throws {@link TritonError} NOT_FOUND, INVALID_ARG or UNAVAILABLE for a place that cannot be listed, CANCELLED.
   */
  list(signal: AbortSignal): Promise<readonly ListedModel[]>;

  /**
   * A text that changes when one of the model's files is written, replaced, added or removed. Called before a served model is
   * loaded again, which the same text makes unnecessary. It should read no file's content.
   *
   * @throws {@link TritonError} Any code, if the model cannot be looked at; CANCELLED.
   */
  stamp(model: ListedModel, signal: AbortSignal): Promise<string>;

  /**
   * The configuration, the versions, and the stamp that the files had before they were read: a change in between is
   * then seen by the next load.
   *
   * @throws {@link TritonError} Any code, with the model's name, if something cannot be read; CANCELLED.
   */
  read(model: ListedModel, signal: AbortSignal): Promise<StampedFiles>;

  /**
   * Makes files local: those of these versions, and those beside the version folders, such as labels and samples for a
   * warm-up. The longest of the four where a store has to be copied from.
   *
   * @param versions - The versions that the load has chosen, ascending.
   * @param progress - Told of a download, if there has to be one. It does not throw.
   * @throws {@link TritonError} Any code, with the model's name; CANCELLED. Nothing that was made may be left then.
   */
  materialise(
    model: ListedModel,
    versions: readonly number[],
    signal: AbortSignal,
    progress?: DownloadProgress,
  ): Promise<LocalFiles>;

  /**
   * Whether a model that was listed, and is not any more, is gone. Without it, what is not listed is gone.
   *
   * @returns False if it is there again.
   * @throws {@link TritonError} Any code, with the model's name, if it may be there but cannot be looked at.
   */
  isGone?(model: ListedModel, signal: AbortSignal): Promise<boolean>;

  /**
   * The entries of which a stamp tells. Without it, or if this returns undefined, a change of any file concerns the
   * whole model.
   */
  entriesOf?(model: ListedModel, stamp: string): Promise<readonly StampedEntry[] | undefined>;

  /**
   * A digest of a file's content, read in small parts. It has to be compared only with others of this source. Without
   * it a file with a new stamp counts as changed.
   *
   * @returns Undefined for what is no file of the size that its stamp says, or cannot be read.
   * @throws {@link TritonError} CANCELLED.
   */
  digest?(model: ListedModel, entry: StampedEntry, signal: AbortSignal): Promise<string | undefined>;

  /** Why {@link list} found nothing. Without it the error says no more than that. */
  whyNoModels?(): Promise<NoModels>;

  /**
   * The error for a model without versions. Without it the error says no more than that.
   *
   * @param file - The name of the model's file in a version, if the configuration tells; empty for a model without a file.
   */
  whyNoVersions?(model: ListedModel, file: string | undefined): Promise<TritonError>;
}

/** How messages name a model's place. */
export function placeOf({ path, file }: ListedModel): string {
  return file ?? path;
}

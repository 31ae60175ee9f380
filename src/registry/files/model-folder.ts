/** A model's folder and its content. */

/** A model's folder. */
export interface ModelFolder {
  readonly name: string;
  readonly path: string;
  /** The single file that is the whole model, if there is no folder. */
  readonly file?: string | undefined;
  /** True if the program gave the files, so that there is no folder. */
  readonly isGiven?: true | undefined;
}

/** The content of a model's folder. */
export interface ModelFiles {
  /** Path of config.pbtxt and its bytes; undefined if there is none. */
  readonly config: { readonly file: string; readonly bytes: Uint8Array } | undefined;
  /** Numbers of the version folders, ascending. */
  readonly versions: readonly number[];
  /** Entries of the first version that has any, by name, from which the backend is inferred, as in Triton. */
  readonly firstVersionEntries: readonly { readonly name: string; readonly isDirectory: boolean }[];
  /** Where there is no config.pbtxt: a file that was probably meant to be it. */
  readonly misnamedConfig?: string | undefined;
}

/**
 * The content of a model's folder, with a text that changes when one of its files is changed, added or
 * removed.
 */
export interface StampedFiles extends ModelFiles {
  readonly stamp: string;
}

/** A model's folder, and what lies in it. */

/** A model's folder. */
export interface ModelFolder {
  readonly name: string;
  readonly path: string;
  /** The file that is all of the model, in place of what lies in the folder. */
  readonly file?: string | undefined;
  /** Its files were given by the program: there is no folder. */
  readonly isGiven?: true | undefined;
}

/** What lies in a model's folder. */
export interface ModelFiles {
  /** Path of config.pbtxt and its bytes; undefined where there is none. */
  readonly config: { readonly file: string; readonly bytes: Uint8Array } | undefined;
  /** Numbers of the version folders, ascending. */
  readonly versions: readonly number[];
  /** Entries of the lexically first sub-folder, which Triton infers the backend from. */
  readonly firstVersionEntries: readonly { readonly name: string; readonly isDirectory: boolean }[];
}

/** What lies in a model's folder, and a text that changes when a file of it is changed, added or removed. */
export interface StampedFiles extends ModelFiles {
  readonly stamp: string;
}

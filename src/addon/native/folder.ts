/** Models' folders and bytes, as native code reads them. */

/** The content of a model's folder; see `native/engine/server/model_folder.h`. */
export interface NativeFolder {
  /** Why the folder cannot be read; empty if it could. */
  readonly fault: string;
  /** An entry that is not allowed in a model's folder; empty if there is none. */
  readonly refusal: string;
  /** A link that ends outside of the allowed folders, by its path in the folder ('': the folder itself); absent if there is none. */
  readonly outsideLink?: { readonly path: string; readonly target: string };
  readonly stamp: string;
  /** Names of the sub-folders, in ascending byte order. */
  readonly folders: readonly string[];
  /** A file that was probably meant to be config.pbtxt; '' if there is none, or if config.pbtxt exists. */
  readonly misnamedConfig: string;
  /** The entries of the first version folder that is not empty. */
  readonly firstEntries: readonly { readonly name: string; readonly isDirectory: boolean }[];
  /**
   * At most one of the following is set: the bytes of config.pbtxt, why it cannot be read, or its size if it is
   * too large.
   */
  readonly config?: Uint8Array;
  readonly configFault?: string;
  readonly configSize?: number;
}

/** Bytes in native memory; see `native/binding/bytes_wrap.h`. */
export interface NativeBytes {
  /** The number of bytes; 0 after the release. */
  size(): number;
  /** Copies the bytes to memory that V8 owns. */
  copy(): Uint8Array;
  /** Releases the bytes. Loads that were given the bytes keep them until they end. */
  release(): void;
}

/** Functions of the engine that loading needs; see `native/engine/model_folder.h` and `native/engine/server.h`. */

/** What it tells. */
export interface NativeFolder {
  /** Why the folder cannot be read; empty: it was. */
  readonly fault: string;
  readonly stamp: string;
  /** Names of the sub-folders, ascending by their bytes. */
  readonly folders: readonly string[];
  /** What lies in the first of them. */
  readonly firstEntries: readonly { readonly name: string; readonly isDirectory: boolean }[];
  /** At most one of these: what config.pbtxt holds, why it cannot be read, or that it has too many bytes. */
  readonly config?: Uint8Array;
  readonly configFault?: string;
  readonly configSize?: number;
}

declare module '../addon/native.js' {
  interface NativeServer {
    /** Reads a folder on a loader thread; its configuration only if its stamp is not `knownStamp`. */
    readFolder(
      model: string,
      path: string,
      mostConfigBytes: number,
      knownStamp: string,
      done: (error: NativeStatus | null, folder: NativeFolder) => void,
    ): void;
    /** Gives back to the system what loading has left free in the allocator. */
    returnMemory(done: () => void): void;
  }
}

/** The types of this folder's tables, which list the expected outcome of each configuration. */

import type { Files, RepositoryModel } from '../support/repository.js';

/** A configuration that loads. */
export interface Served {
  /** The model's file; by default a matching model is generated. */
  readonly model?: () => Uint8Array;
  /** The version folders; default 1. */
  readonly folders?: readonly number[];
  /** The versions that are served; default 1. */
  readonly versions?: readonly number[];
  /** Name of the model's file; default model.onnx; null: there is none. */
  readonly file?: string | null;
  /** The paths of all of `model.notes`, in order. */
  readonly notes?: readonly string[];
  /** Further files in the model's folder. */
  readonly files?: Files;
  /** Values of the completed configuration, by path. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** A reported problem. */
export interface Reason {
  readonly code: string;
  /** Its place; absent if the fault is not in the configuration. */
  readonly at?: { readonly line: number; readonly field: string };
  /** Part of the message. */
  readonly text: string;
}

/** A configuration that does not load, for exactly these reasons. */
export interface Refused {
  readonly reasons: readonly Reason[];
  /** As in {@link Served}. */
  readonly model?: () => Uint8Array;
  /** The files of version 1, if it has more than `model.onnx`. */
  readonly version?: NonNullable<RepositoryModel['versions']>;
}

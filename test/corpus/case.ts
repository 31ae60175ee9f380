/** The types of this folder's tables, which say what becomes of each configuration. */

import type { RepositoryModel } from '../support/repository.js';

/** A configuration that loads. */
export interface Served {
  /** The model's file; by default a model is made that fits. */
  readonly model?: () => Uint8Array;
  /** The version folders; default 1. */
  readonly folders?: readonly number[];
  /** The versions that are served; default 1. */
  readonly versions?: readonly number[];
  /** Name of the model's file; default model.onnx; null: there is none. */
  readonly file?: string | null;
  /** The paths of all of `model.notes`, in order. */
  readonly notes?: readonly string[];
  /** Values of the completed configuration, by path. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** One thing that is wrong. */
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
  /** The files of version 1, where it is not `model.onnx` alone. */
  readonly version?: NonNullable<RepositoryModel['versions']>;
}

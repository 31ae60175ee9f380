/** A backend's own rules for its models' configurations. Each backend in `src/backends` brings them. */

import type { Accelerators } from './accelerator-support.js';
import type { ParameterSupport } from './parameter-support.js';

/** A file or folder in a version's directory by which a backend's model is recognised. */
export interface ModelFile {
  /** Its name, which becomes the model's `default_model_filename`. */
  readonly filename: string;
  readonly entry: 'file' | 'directory' | 'either';
  /** The platforms of this kind; the first one is filled in. If empty, the platform is not filled in. */
  readonly platforms: readonly string[];
  /** The value that a parameter has in the configuration of such a model, if the parameter is there. */
  readonly parameter?: { readonly key: string; readonly value: string };
  /** Whether other models may have such a file as their data (default: no). Then their kinds come first. */
  readonly mayBeData?: boolean;
}

/** See the head of this file. */
export interface BackendRules {
  /**
   * The files by which its models are recognised if the configuration names no backend, tried after those of Triton's own
   * rules (`rules/fill.ts`). The first whose parameter fits is the default `default_model_filename`.
   */
  readonly files?: readonly ModelFile[];
  /** Whether its models may complete their own configuration (default: no). */
  readonly completesItself?: boolean;
  /** Whether an optional input needs a model without batching and without ragged inputs (default: no). */
  readonly optionalNeedsNoBatch?: boolean;
  /**
   * The keys of `parameters` that it knows. As in Triton, a model with an unknown key loads; the key is noted. Absent:
   * each model defines its own keys.
   */
  readonly parameters?: Readonly<Record<string, ParameterSupport>>;
  /** Its execution accelerators; any other name is an error. Absent: it has none. */
  readonly accelerators?: Accelerators;
}

/** The rules of all backends, by name. */
export type RulesOfBackends = ReadonlyMap<string, BackendRules>;

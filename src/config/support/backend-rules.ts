/** A backend's own rules for its models' configurations. Each backend in `src/backends` brings them. */

import type { ModelConfig } from '../schema/types.js';
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

/** Another backend that may run the models of one. */
export interface OtherRuntime {
  readonly backend: string;
  /** The platforms of the models that it may run. */
  readonly platforms: readonly string[];
  /** The parameters of the models' own backend, with what becomes of them. The runner's own need no rows here. */
  readonly parameters: Readonly<Record<string, ParameterSupport>>;
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
  /**
   * Whether inputs are completed from the model's file if only some are written, and the types and dims that written tensors
   * lack (default: only whole sections are completed).
   */
  readonly completesTensors?: boolean;
  /**
   * How its models get a batch of requests with inputs of unequal shapes: `joined`, one tensor of one dimension with the
   * elements of all requests, beside tensors about the batch; `apart`, each request with its own tensors. Absent: they do
   * not.
   */
  readonly ragged?: 'joined' | 'apart';
  /** Whether its models may place their instances themselves: KIND_MODEL (default: no). */
  readonly placesItself?: boolean;
  /** Whether an optional input needs a model without batching and without ragged inputs (default: no). */
  readonly optionalNeedsNoBatch?: boolean;
  /**
   * The keys of `parameters` that it knows. As in Triton, a model with an unknown key loads; the key is noted. Absent:
   * each model defines its own keys.
   */
  readonly parameters?: Readonly<Record<string, ParameterSupport>>;
  /** Its execution accelerators; any other name is an error. Absent: it has none. */
  readonly accelerators?: Accelerators;
  /** Whether an unknown accelerator of GPUs is an error without a GPU, too (default: it is noted). */
  readonly knowsAllAccelerators?: boolean;
  /** The backends that may run its models, by the value of the parameter {@link runtimeKey} (default: none). */
  readonly runtimes?: Readonly<Record<string, OtherRuntime>>;
}

/** The parameter that names another runtime of a backend. */
export const runtimeKey = 'runtime';

/** The rules of all backends, by name. */
export type RulesOfBackends = ReadonlyMap<string, BackendRules>;

/** The other runtime that a configuration names; undefined if the backend itself runs the model. */
export function otherRuntime(
  { parameters }: Pick<ModelConfig, 'parameters'>,
  rules: BackendRules | undefined,
): OtherRuntime | undefined {
  const named = parameters[runtimeKey]?.string_value ?? '';
  const runtimes = rules?.runtimes ?? {};
  return Object.hasOwn(runtimes, named) ? runtimes[named] : undefined;
}

/** The rules for a model: those of its backend or, if another one runs it, those of that one. */
export function rulesOfModel(
  config: Pick<ModelConfig, 'backend' | 'parameters'>,
  backends: RulesOfBackends,
): BackendRules | undefined {
  const own = backends.get(config.backend);
  const other = otherRuntime(config, own);
  const runner = other && backends.get(other.backend);
  if (own?.runtimes === undefined || runner === undefined) return own;
  return { ...runner, runtimes: own.runtimes, parameters: { ...runner.parameters, ...other?.parameters } };
}

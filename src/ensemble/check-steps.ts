/** Checks Triton's rules for an ensemble that depend on its composing models. */

import { fieldPath, fullDims, indexPath, keyPath, type ModelConfig } from '../config/index.js';
import { didYouMean } from '../suggest.js';
import type { ComposingVersion, FindComposing, Note } from './composing.js';
import { isCached } from '../cache-config.js';
import { checkOrigins, isDecoupled } from './origins.js';

type Tensor = ModelConfig['input'][number] | ModelConfig['output'][number];

/** A tensor of the ensemble, as declared where its name appears first. */
interface Seen {
  readonly tensor: Tensor;
  readonly batches: boolean;
  /**
   * Whether it is the ensemble's own input or output, and no step has yet determined whether it is a shape
   * tensor.
   */
  readonly open: boolean;
  /** A description such as `the input 'x' of model 'a'`. */
  readonly what: string;
}

const shape = (dims: readonly number[]): string => `[${dims.join(',')}]`;

/** Whether dims are equal; -1 equals any dim. */
function agree(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((dim, i) => dim === b[i] || dim === -1 || b[i] === -1);
}

function isShapeTensor({ tensor, batches }: Seen): boolean {
  return batches && tensor.is_shape_tensor;
}

function full({ tensor, batches }: Seen): readonly number[] {
  return fullDims({ max_batch_size: batches ? 1 : 0 }, tensor);
}

const dimsText = (one: Seen): string =>
  shape(one.tensor.dims) +
  (isShapeTensor(one)
    ? ' as a shape tensor, without its first value'
    : one.batches
      ? ' and a batch dimension'
      : '');

/**
 * Checks the steps against their models.
 *
 * @param note - Called for each problem.
 * @returns The version of each step, undefined if there is none; and the names of the ensemble's inputs and
 *   outputs that must be shape tensors, because their steps' tensors are.
 */
export function checkSteps(
  config: ModelConfig,
  find: FindComposing,
  note: Note,
): { readonly versions: (ComposingVersion | undefined)[]; readonly shapeTensors: ReadonlySet<string> } {
  const seen = new Map<string, Seen>();
  const batches = config.max_batch_size > 0;
  for (const tensor of config.input) {
    seen.set(tensor.name, {
      tensor,
      batches,
      open: !tensor.is_shape_tensor,
      what: `the ensemble's input '${tensor.name}'`,
    });
  }
  const compare = (path: string, name: string, one: Seen): void => {
    const known = seen.get(name);
    if (known === undefined) {
      seen.set(name, one);
      return;
    }
    if (known.tensor.data_type !== one.tensor.data_type) {
      note(
        path,
        `tensor '${name}' has two datatypes: ${known.what} is ${known.tensor.data_type}, ${one.what} is ${one.tensor.data_type}`,
      );
      return;
    }
    const [a, b] = [known.tensor.dims, one.tensor.dims];
    const shapes = isShapeTensor(known) || isShapeTensor(one);
    const alike = isShapeTensor(known) === isShapeTensor(one);
    // The ensemble's own tensor becomes a shape tensor if a step's tensor is one.
    if (shapes && !alike && known.batches && one.batches && (known.open || one.open) && agree(a, b)) {
      seen.set(name, { ...(known.open ? one : known), open: false });
      return;
    }
    // A tensor may connect a model that batches with one that does not.
    if ((alike && agree(a, b)) || agree(full(known), full(one))) {
      if (known.open) seen.set(name, { ...known, open: false });
      return;
    }
    note(
      path,
      `tensor '${name}' has two shapes: ${known.what} has dims ${dimsText(known)}, ${one.what} has ${dimsText(one)}`,
    );
  };
  const versions = (config.ensemble_scheduling?.step ?? []).map((step, index) => {
    const path = indexPath('ensemble_scheduling.step', index);
    const found = find(step.model_name);
    if (found === undefined) {
      note(fieldPath(path, 'model_name'), `no repository has a model '${step.model_name}'`);
      return undefined;
    }
    const wanted = step.model_version;
    const chosen = wanted === -1 ? found[0] : found.find(({ version }) => version === wanted);
    if (chosen === undefined) {
      const versions = found.map(({ version }) => version).join(', ');
      note(
        fieldPath(path, wanted === -1 ? 'model_name' : 'model_version'),
        wanted === -1
          ? `model '${step.model_name}' is not loaded`
          : `model '${step.model_name}' has no version ${wanted} that is loaded; it has ${versions === '' ? 'none' : versions}`,
      );
      return undefined;
    }
    const model = chosen.config;
    if (model.max_batch_size > 0 && config.max_batch_size > model.max_batch_size) {
      note(
        'max_batch_size',
        `${config.max_batch_size} is more than the ${model.max_batch_size} of model '${step.model_name}' in ${path}`,
      );
    }
    const side = (map: 'input_map' | 'output_map', tensors: readonly Tensor[], kind: string): void => {
      for (const [own, name] of Object.entries(step[map])) {
        const at = keyPath(fieldPath(path, map), own);
        const tensor = tensors.find((one) => one.name === own);
        if (tensor === undefined) {
          const names = tensors.map((one) => one.name);
          note(
            at,
            `model '${step.model_name}' has no ${kind} '${own}'${didYouMean(own, names)}; it has ${names.join(', ')}`,
          );
          continue;
        }
        // Between models a tensor has the dims that the models' callers see, before any reshape.
        compare(at, name, {
          tensor,
          batches: model.max_batch_size > 0,
          open: false,
          what: `the ${kind} '${own}' of model '${step.model_name}'`,
        });
      }
    };
    side('input_map', model.input, 'input');
    const missing = model.input
      .filter(({ name, optional }) => !optional && !Object.hasOwn(step.input_map, name))
      .map(({ name }) => `'${name}'`);
    if (missing.length > 0) {
      note(
        fieldPath(path, 'input_map'),
        `missing: model '${step.model_name}' needs ${missing.join(', ')}, too`,
      );
    }
    side('output_map', model.output, 'output');
    return chosen;
  });
  config.output.forEach((tensor, index) => {
    compare(indexPath('output', index), tensor.name, {
      tensor,
      batches,
      open: !tensor.is_shape_tensor,
      what: `the ensemble's output '${tensor.name}'`,
    });
  });
  for (const section of ['input', 'output'] as const) {
    config[section].forEach((tensor, index) => {
      if (tensor.reshape === undefined) return;
      note(
        fieldPath(indexPath(section, index), 'reshape'),
        "an ensemble's tensors take no reshape: write it in the models' configurations",
        'UNSUPPORTED',
      );
    });
  }
  checkOrigins(config, versions, note);
  checkCached(config, versions, note);
  const shapeTensors = [...config.input, ...config.output]
    .map(({ name }) => name)
    .filter((name) => {
      const one = seen.get(name);
      return batches && one !== undefined && isShapeTensor(one);
    });
  return { versions, shapeTensors: new Set(shapeTensors) };
}

/**
 * Checks that the responses of an ensemble may be cached: all its models must allow that. Triton has this rule in its
 * documentation, and does not check it.
 */
function checkCached(
  config: ModelConfig,
  versions: readonly (ComposingVersion | undefined)[],
  note: Note,
): void {
  if (!isCached(config)) return;
  const path = 'response_cache.enable';
  for (const [index, version] of versions.entries()) {
    const kind = isDecoupled(version)
      ? 'decoupled'
      : version?.config.sequence_batching !== undefined
        ? 'a sequence model'
        : undefined;
    const name = config.ensemble_scheduling?.step[index]?.model_name ?? '';
    if (kind === undefined) continue;
    note(path, `an ensemble can use the response cache only if all its models can, but '${name}' is ${kind}`);
  }
}

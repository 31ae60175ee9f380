/** Triton's rules for a configuration that depend neither on the model nor on its files. */

import { shapeText } from './description.js';
import { fieldPath, indexPath, keyPath } from '../schema/paths.js';
import { otherRuntime, runtimeKey, type BackendRules } from '../support/backend-rules.js';
import type { Report } from '../text/problems.js';
import type { ModelConfig, ModelInstanceGroup } from '../schema/types.js';
import { backendOfPlatform } from './fill.js';
import { inlineExpected, readInline } from './inline-option.js';
import { loadExpected, readLoad } from './load-option.js';
import { leadsOut } from './leads-out.js';
import { validateRagged } from './ragged.js';
import { readSwitch, switchExpected } from './switch.js';
import type { Gpus } from './usable-gpus.js';
import { validateNames } from './validate-names.js';
import { validateTensors } from './validate-tensors.js';
import { validateWarmup } from './validate-warmup.js';
import { validateEnsemble } from './validate-ensemble.js';
import { validateDynamicBatching } from './validate-scheduling.js';
import { validateSequenceBatching } from './validate-sequences.js';

/** A limit, because each instance may be a thread. */
const mostInstances = 1024;

/** The maximum number of GPU ids in a message. */
const mostListed = 32;

/** The facts that the rules need besides the configuration. */
export interface ValidationContext {
  /** Name of the model's directory. */
  readonly modelName: string;
  /** The GPUs that the backend can use; undefined if the backend is unknown, or if GPUs do not matter. */
  readonly gpus: Gpus | undefined;
  /** The rules of the configuration's backend; undefined if it has none. */
  readonly rules: BackendRules | undefined;
}

/**
 * Checks a normalised configuration.
 *
 * @param config - Filled and normalised.
 * @param report - Called for each problem.
 */
export function validateConfig(config: ModelConfig, context: ValidationContext, report: Report): void {
  validateName(config, context, report);
  validateNames(config, report);
  validateBackend(config, report);
  if (config.max_batch_size < 0) {
    report('max_batch_size', `expected 0 (no batching) or more but found ${config.max_batch_size}`);
  }
  validateDynamicBatching(config, report);
  validateSequenceBatching(config, report);
  validateEnsemble(config, report);
  validateCache(config, report);
  validateInstanceGroups(config, context, report);
  validateMetrics(config, report);
  validateWarmup(config, report);
  validateRagged(config, false, report);
  validateInline(config, report);
  validateLoad(config, report);
  validateSwitches(config, report);
  validateRuntime(config, context.rules, report);
  validatePaths(config, report);
  validateTensors(config, context.rules, report);
}

function validateName(config: ModelConfig, context: ValidationContext, report: Report): void {
  if (config.name !== context.modelName) {
    report(
      'name',
      `unexpected name ${JSON.stringify(config.name)}: it must be that of the model's directory, ` +
        `${JSON.stringify(context.modelName)}, or left out`,
    );
  }
}

function validateBackend(config: ModelConfig, report: Report): void {
  const { backend, platform } = config;
  const show = JSON.stringify;
  if (platform === 'ensemble') {
    if (backend !== '') report('backend', `an ensemble has no backend but found ${show(backend)}`);
    return;
  }
  if (backend === '') {
    if (platform !== '') {
      const known = [...backendOfPlatform.keys(), 'ensemble'].join(', ');
      report(
        'platform',
        `unexpected platform ${show(platform)} without a backend; known platforms: ${known}`,
      );
    } else if (config.default_model_filename !== '') {
      report(
        'backend',
        `missing: default_model_filename ${show(config.default_model_filename)} does not imply a backend; write backend: "onnxruntime"`,
      );
    }
    return;
  }
  if (backendOfPlatform.get(platform) === backend) return;
  const platforms = [...backendOfPlatform].flatMap(([name, owner]) => (owner === backend ? [name] : []));
  if (platforms.length > 0) {
    const path = platform === '' ? 'backend' : 'platform';
    report(
      path,
      `unexpected pair of platform ${show(platform)} and backend ${show(backend)}: ` +
        `the platform of ${backend} is ${platforms.join(' or ')}, and may be left out`,
    );
  }
}

function validateCache(config: ModelConfig, report: Report): void {
  if (config.response_cache?.enable !== true) return;
  if (config.sequence_batching)
    report('response_cache.enable', 'a sequence model cannot use the response cache');
  if (config.model_transaction_policy?.decoupled) {
    report('response_cache.enable', 'a decoupled model cannot use the response cache');
  }
}

function validateInstanceGroups(config: ModelConfig, context: ValidationContext, report: Report): void {
  const { gpus } = context;
  const count = config.instance_group.reduce(
    (sum, group) => sum + Math.max(group.count, 0) * (group.kind === 'KIND_GPU' ? group.gpus.length : 1),
    0,
  );
  if (count > mostInstances) {
    report('instance_group', `expected at most ${mostInstances} instances in all but found ${count}`);
  }
  config.instance_group.forEach((group, index) => {
    const path = indexPath('instance_group', index);
    if (group.count < 0) {
      const expected = 'expected 1 or more, or 0 for the default,';
      report(fieldPath(path, 'count'), `${expected} but found ${group.count}`);
    }
    if (group.kind !== 'KIND_GPU' && group.gpus.length > 0) {
      report(
        fieldPath(path, 'gpus'),
        `instances of ${group.kind} must not list GPUs but found ${shapeText(group.gpus)}` +
          autoOnCpu(group, gpus),
      );
    }
    group.gpus.forEach((gpu, position) => {
      if (gpu >= 0) return;
      const at = indexPath(fieldPath(path, 'gpus'), position);
      report(at, `expected the id of a GPU, 0 or more, but found ${gpu}`);
    });
    group.secondary_devices.forEach(({ device_id: device }, position) => {
      if (device >= 0) return;
      const at = fieldPath(indexPath(fieldPath(path, 'secondary_devices'), position), 'device_id');
      report(at, `expected the id of a device, 0 or more, but found ${device}`);
    });
    if (group.kind === 'KIND_GPU' && gpus !== undefined) validateGpus(group, gpus, path, report);
    if (group.profile.length > 0 && config.platform !== 'tensorrt_plan') {
      report(fieldPath(path, 'profile'), 'only models of platform tensorrt_plan have profiles');
    }
    group.profile.forEach((profile, position) => {
      if (/^\d+$/.test(profile)) return;
      const at = indexPath(fieldPath(path, 'profile'), position);
      report(at, `expected a profile's index (a whole number) but found ${JSON.stringify(profile)}`);
    });
  });
}

function validateGpus(group: ModelInstanceGroup, gpus: Gpus, path: string, report: Report): void {
  if (gpus.usable.length === 0) {
    const { code, text } = gpus.missing();
    const help = "To use the CPU: instanceKind: 'cpu'";
    report(fieldPath(path, 'kind'), `KIND_GPU, but ${text}. ${help}`, code);
    return;
  }
  const refused = group.gpus.filter((gpu) => gpu >= 0 && !gpus.usable.includes(gpu));
  if (refused.length === 0) return;
  const missing = refused.filter((gpu) => !gpus.unusable.has(gpu));
  const listed = missing.slice(0, mostListed).join(', ') + (missing.length > mostListed ? ', …' : '');
  const reasons = [
    ...(missing.length === 0 ? [] : [`no GPU with id ${listed}`]),
    ...refused.flatMap((gpu) => reasonOf(gpu, gpus)),
  ];
  report(fieldPath(path, 'gpus'), `${reasons.join('; ')}; available are ${gpus.usable.join(', ')}`);
}

/** Why an existing GPU cannot be used. */
function reasonOf(gpu: number, { unusable }: Gpus): string[] {
  const reason = unusable.get(gpu);
  return reason === undefined ? [] : [`GPU ${gpu} cannot be used: ${reason}`];
}

/** Why KIND_AUTO put a group that lists GPUs on the CPU. */
function autoOnCpu({ gpus: listed }: ModelInstanceGroup, gpus: Gpus | undefined): string {
  if (gpus === undefined) return '';
  if (gpus.usable.length === 0) return ' (KIND_AUTO means KIND_CPU on a machine without a GPU)';
  const reasons = listed.flatMap((gpu) => reasonOf(gpu, gpus));
  return reasons.length === 0 ? '' : ` (KIND_AUTO means KIND_CPU here: ${reasons.join('; ')})`;
}

function validateMetrics(config: ModelConfig, report: Report): void {
  for (const key of Object.keys(config.metric_tags)) {
    // The key with `_` in front becomes a label's name. Names with two underscores in front are reserved by
    // Prometheus.
    if (/^([a-z0-9][a-z0-9_]*)?$/i.test(key)) continue;
    report(keyPath('metric_tags', key), 'expected a key of letters, digits and _ that does not begin with _');
  }
  config.model_metrics?.metric_control.forEach((control, index) => {
    const path = indexPath('model_metrics.metric_control', index);
    if (!control.metric_identifier?.family) {
      report(fieldPath(path, 'metric_identifier.family'), 'missing: write the name of the metric family');
    }
    if (!control.histogram_options?.buckets.length) {
      report(fieldPath(path, 'histogram_options.buckets'), 'missing: write the bounds of the buckets');
      return;
    }
    const { buckets } = control.histogram_options;
    if (!buckets.every((bound, i) => Number.isFinite(bound) && bound > (buckets[i - 1] ?? -Infinity))) {
      report(
        fieldPath(path, 'histogram_options.buckets'),
        `expected finite numbers, each above the one before, but found ${buckets.join(', ')}`,
      );
    }
  });
}

function validateInline(config: ModelConfig, report: Report): void {
  const value = config.parameters['inline']?.string_value;
  if (value === undefined || readInline(value) !== undefined) return;
  report(keyPath('parameters', 'inline'), `expected ${inlineExpected} but found ${JSON.stringify(value)}`);
}

function validateLoad(config: ModelConfig, report: Report): void {
  const value = config.parameters['load']?.string_value;
  if (value === undefined || readLoad(value) !== undefined) return;
  report(keyPath('parameters', 'load'), `expected ${loadExpected} but found ${JSON.stringify(value)}`);
}

/** Parameters whose value is true or false. */
const switches = ['batch_across_shapes', 'pinned', 'rerun_in_halves'];

function validateSwitches(config: ModelConfig, report: Report): void {
  for (const key of switches) {
    const value = config.parameters[key]?.string_value;
    if (value === undefined || readSwitch(value) !== undefined) continue;
    report(keyPath('parameters', key), `expected ${switchExpected} but found ${JSON.stringify(value)}`);
  }
  if (config.sequence_batching && readSwitch(config.parameters['rerun_in_halves']?.string_value) === true) {
    const text = 'a batch of a sequence model is not run again, because the model may have kept its state';
    report(keyPath('parameters', 'rerun_in_halves'), text);
  }
}

/** The parameter that names another backend for the model, where the model's own has others. */
function validateRuntime(config: ModelConfig, rules: BackendRules | undefined, report: Report): void {
  const value = config.parameters[runtimeKey]?.string_value ?? '';
  if (rules?.runtimes === undefined || value === '') return;
  const path = keyPath('parameters', runtimeKey);
  const other = otherRuntime(config, rules);
  if (other === undefined) {
    const known = Object.keys(rules.runtimes).join(', ');
    report(path, `expected ${known}, or no such parameter, but found ${JSON.stringify(value)}`);
  } else if (!other.platforms.includes(config.platform)) {
    const platforms = other.platforms.join(' and ');
    report(path, `${value} runs models of platform ${platforms}, not ${JSON.stringify(config.platform)}`);
  }
}

/** Files that a configuration names must lie in the folders where Triton expects them. */
function validatePaths(config: ModelConfig, report: Report): void {
  config.output.forEach((output, index) => {
    if (leadsOut(output.label_filename)) {
      const path = fieldPath(indexPath('output', index), 'label_filename');
      report(
        path,
        `${JSON.stringify(output.label_filename)} leads out of the model's directory`,
        'UNSUPPORTED',
      );
    }
  });
  if (leadsOut(config.default_model_filename)) {
    report(
      'default_model_filename',
      `${JSON.stringify(config.default_model_filename)} leads out of the version's directory`,
      'UNSUPPORTED',
    );
  }
  for (const [capability, file] of Object.entries(config.cc_model_filenames)) {
    if (!leadsOut(file)) continue;
    report(
      keyPath('cc_model_filenames', capability),
      `${JSON.stringify(file)} leads out of the version's directory`,
      'UNSUPPORTED',
    );
  }
  if (leadsOut(config.runtime)) {
    report('runtime', `${JSON.stringify(config.runtime)} leads out of the directory of the backend`);
  }
  const strategy = config.parameters['TRITON_BATCH_STRATEGY_PATH']?.string_value;
  if (strategy === undefined) return;
  const path = keyPath('parameters', 'TRITON_BATCH_STRATEGY_PATH');
  if (config.sequence_batching) report(path, 'a sequence model cannot have its own batching strategy');
  if (leadsOut(strategy)) report(path, `${JSON.stringify(strategy)} leads out of the model's directory`);
}

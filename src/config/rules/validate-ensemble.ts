/** Triton's rules for ensembles that do not depend on the composing models. */

import { fieldPath, indexPath } from '../schema/paths.js';
import type { Report } from '../text/problems.js';
import type { ModelConfig, ModelEnsemblingStep } from '../schema/types.js';

/** Checks `ensemble_scheduling`, and that it is set if and only if the platform is `ensemble`. */
export function validateEnsemble(config: ModelConfig, report: Report): void {
  const ensemble = config.ensemble_scheduling;
  if (ensemble === undefined) {
    if (config.platform === 'ensemble') report('ensemble_scheduling', 'missing: an ensemble needs its steps');
    return;
  }
  if (config.platform !== 'ensemble') {
    report(
      'platform',
      `ensemble_scheduling needs platform: "ensemble" but found ${JSON.stringify(config.platform)}`,
    );
  }
  if (config.instance_group.length > 0) report('instance_group', 'an ensemble has no instances of its own');
  if (config.optimization) report('optimization', 'an ensemble takes no optimization settings');
  if (config.model_warmup.length > 0) report('model_warmup', 'an ensemble cannot be warmed up');
  const steps = ensemble.step;
  if (steps.length === 0) report('ensemble_scheduling.step', 'missing: an ensemble needs at least one step');
  steps.forEach((step, index) => {
    const path = indexPath('ensemble_scheduling.step', index);
    if (step.model_name === '') report(fieldPath(path, 'model_name'), 'missing');
    for (const map of ['input_map', 'output_map'] as const) {
      if (Object.keys(step[map]).length === 0)
        report(fieldPath(path, map), 'missing: name at least one tensor');
    }
  });
  validateFlow(config, steps, report);
}

/** Follows the tensors from the inputs through the steps. */
function validateFlow(config: ModelConfig, steps: readonly ModelEnsemblingStep[], report: Report): void {
  const show = JSON.stringify;
  const isConditional = config.parameters['conditional']?.string_value === 'true';
  const inputs = new Set(config.input.map(({ name }) => name));
  const stepPath = (index: number): string => indexPath('ensemble_scheduling.step', index);
  const producers = new Map<string, string>(
    config.input.map(({ name }) => [name, 'an input of the ensemble']),
  );
  steps.forEach((step, index) => {
    for (const tensor of Object.values(step.output_map)) {
      const other = producers.get(tensor);
      const path = fieldPath(stepPath(index), 'output_map');
      // With branches, only the branch that is taken produces the tensor.
      const isBranch = isConditional && !inputs.has(tensor);
      if (other !== undefined && !isBranch)
        report(path, `tensor ${show(tensor)} is produced twice: it is also ${other}`);
      else producers.set(tensor, `an output of ${stepPath(index)}`);
    }
  });
  const reached = new Set(config.input.map(({ name }) => name));
  const waiting = new Set(steps.keys());
  for (let progress = true; progress;) {
    progress = false;
    for (const index of waiting) {
      const step = steps[index];
      if (step === undefined || !Object.values(step.input_map).every((tensor) => reached.has(tensor)))
        continue;
      for (const tensor of Object.values(step.output_map)) reached.add(tensor);
      waiting.delete(index);
      progress = true;
    }
  }
  for (const index of waiting) {
    const missing = Object.values(steps[index]?.input_map ?? {}).filter((tensor) => !reached.has(tensor));
    const path = fieldPath(stepPath(index), 'input_map');
    report(
      path,
      `${missing.map((tensor) => show(tensor)).join(', ')} cannot be reached from the ensemble's inputs`,
    );
  }
  config.output.forEach(({ name }, index) => {
    if (!reached.has(name))
      report(indexPath('output', index), `no step that can be reached produces ${show(name)}`);
  });
  const used = new Set(steps.flatMap((step) => Object.values(step.input_map)));
  config.input.forEach(({ name }, index) => {
    if (!used.has(name)) report(indexPath('input', index), `no step uses ${show(name)}`);
  });
  const outputs = new Set(config.output.map(({ name }) => name));
  steps.forEach((step, index) => {
    for (const tensor of Object.values(step.output_map)) {
      if (used.has(tensor) || outputs.has(tensor)) continue;
      report(fieldPath(stepPath(index), 'output_map'), `no step and no output uses tensor ${show(tensor)}`);
    }
  });
}

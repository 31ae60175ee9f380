/** Rejects names with a zero character, at which interfaces of C would cut them: two names could become one. */

import type { ModelConfig } from '../schema/types.js';
import { fieldPath, indexPath } from '../schema/paths.js';
import type { Report } from '../text/problems.js';

/** Reports the names of a model and its tensors that have a zero character. */
export function validateNames(config: ModelConfig, report: Report): void {
  const check = (path: string, name: string): void => {
    if (!name.includes('\0')) return;
    report(path, `expected a name without a zero character but found ${JSON.stringify(name)}`);
  };
  check('name', config.name);
  for (const section of ['input', 'output'] as const) {
    config[section].forEach(({ name }, index) => {
      check(fieldPath(indexPath(section, index), 'name'), name);
    });
  }
  const { control_input: controls = [], state: states = [] } = config.sequence_batching ?? {};
  controls.forEach(({ name }, index) => {
    check(fieldPath(indexPath('sequence_batching.control_input', index), 'name'), name);
  });
  states.forEach(({ input_name, output_name }, index) => {
    const path = indexPath('sequence_batching.state', index);
    check(fieldPath(path, 'input_name'), input_name);
    check(fieldPath(path, 'output_name'), output_name);
  });
}

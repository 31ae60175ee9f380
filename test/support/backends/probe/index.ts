/**
 * The backend of native/test/support/backends/probe/: one folder there and one here, which nothing else names. It
 * notes what happens to its versions.
 */

import { parameterRow } from '../../../../src/config/index.js';
import type { Backend } from '../../../../src/backends/backend.js';

/** What happened to the versions of the backend's models, in order. */
export const happened: string[] = [];

/** Adds its option `addend` to outputs. */
export const backend: Backend = {
  name: 'probe',
  needsFile: false,
  rules: {
    files: [{ filename: 'model.probe', entry: 'file', platforms: [] }],
    parameters: {
      factor: parameterRow('acted', 'the factor of the inputs', { integer: true }),
      colour: parameterRow('hint', 'nothing has a colour'),
    },
  },
  optionKeys: ['addend'],
  runtime: { title: 'Probe', settings: () => ({ version: '7' }) },
  settings({ options }): Record<string, string> {
    return { addend: String(options['addend'] ?? 0) };
  },
  open({ prepared, version, instances }) {
    const what = `${prepared.config.name}/${version}`;
    happened.push(`open ${what} for ${instances.map(({ name }) => name).join(', ')}`);
    return Promise.resolve({
      prepared,
      settings: {},
      start(config) {
        happened.push(`start ${what} with ${config.input.length} input`);
        return Promise.resolve();
      },
      settle(uid) {
        happened.push(`${uid === undefined ? 'refuse' : 'settle'} ${what}`);
        return Promise.resolve();
      },
    });
  },
};

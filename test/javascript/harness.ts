/** Models in JavaScript for tests: y = x + 1 in every form, and models that misbehave. */

import { configText, type ConfigOptions } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';

/** A model of the JavaScript backend whose file has this text; by default FP32 [N, 16] in and out. */
export function script(text: string, options: ConfigOptions = {}, file = 'model.js'): RepositoryModel {
  const config = configText({ ...options, backend: 'javascript' });
  // Repositories of tests lie in no package, so a `.js` file would be CommonJS.
  const files = file === 'model.js' ? { 'package.json': '{ "type": "module" }' } : {};
  return { config, versions: { '1': { [file]: text, ...files } } };
}

/** Text of a module whose class has this body for `execute(requests)`. */
export function executing(body: string): string {
  return `export default class { execute(requests) { ${body} } };`;
}

/** The body that adds 1. */
export const adds = 'return requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => value + 1) }));';

/** A body that fails as the request's first number selects, and otherwise adds 1. */
export const byFirst = (ways: Readonly<Record<number, string>>): string =>
  `switch (requests[0].inputs.x.data[0]) { ${Object.entries(ways)
    .map(([number, way]) => `case ${number}: { ${way} }`)
    .join(' ')} default: { ${adds} } }`;

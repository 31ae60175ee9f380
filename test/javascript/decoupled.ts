/** Decoupled models in JavaScript for tests: `count` responses, the k-th of which has k in y. */

import type { Inputs } from '../../src/index.js';
import { configText, type ConfigOptions } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';

const one = { datatype: 'INT32', dims: [1] } as const;

/** A decoupled model whose module has this text. Its input `count` and its output `y` are INT32. */
export function streamingModule(text: string, options: ConfigOptions = {}): RepositoryModel {
  const config = configText({
    maxBatchSize: 8,
    inputs: [{ name: 'count', ...one }],
    outputs: [{ name: 'y', datatype: 'INT32', dims: [-1] }],
    backend: 'javascript',
    ...options,
    more: `model_transaction_policy { decoupled: true }\n${options.more ?? ''}`,
  });
  return { config, versions: { '1': { 'model.mjs': text } } };
}

/** A decoupled model that makes a stream of each request with a generator: `gen(count, request)` has this body. */
export function generating(
  body: string,
  kind: 'function*' | 'async function*' = 'async function*',
  options: ConfigOptions = {},
): RepositoryModel {
  const text = `
    import { appendFileSync } from 'node:fs';
    import { setTimeout as sleep } from 'node:timers/promises';
    const note = (request, text) => appendFileSync(request.parameters.file, text + '\\n');
    const y = (k) => ({ y: [[k]] });
    ${kind} gen(count, request) { ${body} }
    export default class {
      execute(requests) { return requests.map((request) => gen(request.inputs.count.data[0], request)); }
    }`;
  return streamingModule(text, options);
}

/** The body that counts. */
export const counts = 'for (let k = 0; k < count; k++) yield y(k);';

/** The inputs of a request for `count` responses. */
export function asking(count: number): Inputs {
  return { count: [[count]] };
}

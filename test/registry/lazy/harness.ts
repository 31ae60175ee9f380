/** Helpers of the tests of lazy models: models whose loads wait for the test, and what is loaded. */

import type { GivenModel, InferenceServer } from '../../../src/index.js';

/** Whether a model is loaded: a lazy one that is not has a reason in the index. */
export function isLoaded(server: InferenceServer, name: string): boolean {
  return server.index().some((one) => one.name === name && one.state === 'READY' && one.reason === undefined);
}

/** The loaded models, sorted. */
export function loaded(server: InferenceServer): string[] {
  return [...new Set(server.index().map(({ name }) => name))].filter((name) => isLoaded(server, name)).sort();
}

/** The value of a metric without labels. */
export function metric(server: InferenceServer, name: string): number {
  const line = server
    .metrics()
    .split('\n')
    .find((one) => one.startsWith(`${name} `));
  return Number(line?.split(' ')[1] ?? NaN);
}

/** A model whose load waits for the test. */
export interface Gated {
  readonly model: GivenModel;
  /** How often a load has begun. */
  readonly begun: () => number;
  /** Lets the loads end, those under way and later ones. With an error they fail. */
  readonly open: (error?: Error) => void;
  /** Lets later loads wait again. */
  readonly shut: () => void;
}

const tensor = { data_type: 'TYPE_FP32', dims: [16] } as const;

/** y = x + 1 in the program's own code. */
export function gated(parameters: Readonly<Record<string, string>> = {}): Gated {
  let begun = 0;
  let failure: Error | undefined;
  let release: () => void = () => undefined;
  let gate = Promise.resolve();
  const shut = (): void => {
    gate = new Promise((resolve) => (release = resolve));
  };
  shut();
  const model: GivenModel = {
    config: {
      max_batch_size: 8,
      input: [{ name: 'x', ...tensor }],
      output: [{ name: 'y', ...tensor }],
      parameters: Object.fromEntries(
        Object.entries(parameters).map(([key, value]) => [key, { string_value: value }]),
      ),
    },
    async initialize() {
      begun++;
      await gate;
      if (failure) throw failure;
    },
    execute: (requests) =>
      requests.map(({ inputs }) => ({ y: inputs['x']?.as('FP32').data.map((value) => value + 1) })),
  };
  return {
    model,
    begun: () => begun,
    open: (error) => {
      failure = error;
      release();
    },
    shut,
  };
}

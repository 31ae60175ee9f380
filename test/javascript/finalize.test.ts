import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createServer, type ServerOptions } from '../../src/index.js';
import { rejection, serve } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import { recorded, script as python, skip, withPython } from '../python/harness.js';
import { adds, script } from './harness.js';

const finalizing = (body: string): RepositoryModel =>
  script(`export default class { execute(requests) { ${adds} } finalize() { ${body} } };`);

/** A model whose `finalize` never ends, in every form: one of a repository, or one of the program. */
const forms: Readonly<
  Record<string, { model?: RepositoryModel; models?: ServerOptions['models']; skip?: string | false }>
> = {
  'a thread that waits': {
    model: finalizing('return new Promise(() => setInterval(() => undefined, 1000));'),
  },
  'a thread in an endless loop': { model: finalizing('for (;;);') },
  'a Python process': {
    model: python('def execute(self, requests):\n    return []\ndef finalize(self):\n    time.sleep(1000)'),
    skip,
  },
  'a Python coroutine': {
    model: python(
      'def execute(self, requests):\n    return []\nasync def finalize(self):\n    import asyncio\n    await asyncio.sleep(1000)',
    ),
    skip,
  },
  'a model of the program': {
    models: {
      m: {
        config: {
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
          output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
        },
        execute: () => [],
        finalize: () => new Promise<void>(() => undefined),
      },
    },
  },
};
for (const [form, { model, models, skip: skipped = false }] of Object.entries(forms)) {
  for (const end of ['an unload', 'close'] as const) {
    test(
      `finalize that does not end holds up ${end} no longer than its limit: ${form}`,
      { skip: skipped },
      async (t) => {
        const { logger, lines } = recorded();
        const options = withPython({
          modelControlMode: 'explicit',
          loadModels: ['m'],
          finalizeTimeoutMs: 50,
          logger,
        } as const);
        const server =
          model === undefined
            ? await createServer({ ...options, ...(models && { models }) })
            : await serve(t, { m: model }, options);
        if (end === 'close') await server.close();
        else await server.unloadModel('m');
        const said = lines.filter((line) => line.includes('finalize'));
        assert.equal(said.length, 1, said.join('\n'));
        assert.match(
          said[0] ?? '',
          /^warn: model 'm': finalize did not end within 0\.05 s \(finalizeTimeoutMs\); (its (?:thread|process) was terminated|the server no longer waits for it)/,
        );
        await server.close();
      },
    );
  }
}

test('finalize that ends within its limit is waited for, beyond what a busy instance may take', async (t) => {
  const { logger, lines } = recorded();
  const slow = finalizing(`return new Promise((resolve) => setTimeout(() => {
    console.log('has ended');
    resolve();
  }, 2500));`);
  const server = await serve(t, { m: slow }, { logger, finalizeTimeoutMs: 60_000 });
  await server.close();
  assert.equal(lines.filter((line) => line.startsWith('warn')).join('\n'), '');
});

test('a limit that is none is refused', async () => {
  const error = await rejection(createServer('.', { finalizeTimeoutMs: -1 }));
  assert.match(
    error.message,
    /expected an integer of at least 0 for options\.finalizeTimeoutMs but received -1/,
  );
});

// Reading the port of such a thread once crashed the process.
for (const [how, body] of [
  ['that ends its thread', 'process.exit(1);'],
  [
    'during which its thread dies',
    `setTimeout(() => { throw new Error('late'); }, 1);
     return new Promise(() => undefined);`,
  ],
] as const) {
  test(`a finalize ${how} harms nobody, in unloads, reloads and close`, async (t) => {
    const options = { modelControlMode: 'explicit', loadModels: ['m'] } as const;
    const server = await serve(t, { m: finalizing(body) }, options);
    for (let i = 0; i < 6; i++) {
      await server.infer('m', { x: new Float32Array(16) });
      if (i % 2 === 0) await server.loadModel('m', { force: true });
      else {
        await server.unloadModel('m');
        await server.loadModel('m');
      }
    }
    await server.close();
  });
}

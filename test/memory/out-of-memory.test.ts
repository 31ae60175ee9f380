// Long: it starts many processes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { onnx } from '../support/harness.js';
import { largeOutputModel, mlpModel } from '../support/models.js';
import { sanitized } from '../support/sanitizer.js';
import { echo, runMemory } from './harness.js';

const wide = onnx(largeOutputModel(), {
  maxBatchSize: 500,
  inputs: [{ name: 'x', dims: [1] }],
  outputs: [{ name: 'y', dims: [160_000] }],
});
/** Weights of 134 MB. */
const weights = onnx(mlpModel([16, 4096, 4096, 4096, 16]), { maxBatchSize: 4 });

function reasonToSkip(): string | false {
  if (sanitized) return 'a sanitizer needs all the address space there is';
  if (spawnSync('prlimit', ['--version']).status === 0) return false;
  return 'memory is limited with prlimit (util-linux), which is not here';
}
const skip = reasonToSkip();

void suite('without memory, what needs it ends with a coded error and the rest goes on:', { skip }, () => {
  const scenarios: readonly (readonly [name: string, outcome: RegExp])[] = [
    [
      'input',
      /^an input of 200 MB: UNAVAILABLE \(NO_MEMORY\): model 'echo': no memory for an input of 209715200 bytes\n/,
    ],
    [
      'output',
      /^an output of 200 MB: UNAVAILABLE \(NO_MEMORY\): model 'echo': .*no memory for 209715200 bytes\n/,
    ],
    ['runtime', /^an output of 320 MB: (UNAVAILABLE \(NO_MEMORY\)|INTERNAL): .*(no memory|[Aa]lloc)/],
    [
      'files',
      /^files of 200 MB: UNAVAILABLE \(NO_MEMORY\): model 'given', file '1\/weights': no memory for 209715200 bytes\n/,
    ],
    [
      'load',
      /^loading: (UNAVAILABLE \(NO_MEMORY\)|UNAVAILABLE \(LOAD_FAILED\)|INTERNAL|INVALID_ARG): .*(memory|[Aa]lloc)/,
    ],
  ];
  for (const [name, expected] of scenarios) {
    test(name, async (t) => {
      const models = { echo: echo(), ...(name === 'runtime' || name === 'load' ? { wide, weights } : {}) };
      const { code, stdout, stderr } = await runMemory(t, 'out-of-memory', [name], models);
      assert.deepEqual([code, stderr], [0, ''], stdout);
      const lines = stdout.split('\n').filter((line) => !/^afterwards: went well$/.test(line));
      assert.equal(stdout.match(/^afterwards: went well$/gm)?.length, 2, stdout);
      assert.match(lines.join('\n'), expected);
    });
  }

  test('a thread', async (t) => {
    const { code, stdout, stderr } = await runMemory(t, 'out-of-memory', ['thread']);
    assert.deepEqual([code, stderr], [0, ''], stdout);
    assert.match(
      stdout,
      /^a first request: UNAVAILABLE \(NO_MEMORY\): model 'echo': the system has no thread for its instances/,
    );
  });
});

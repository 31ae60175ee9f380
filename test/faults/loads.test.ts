import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { floats, identity, rejection, row, serve } from '../support/harness.js';
import { asking, faulty } from './harness.js';

const kinds = [
  ['fails', 'UNAVAILABLE', /an injected failure/],
  ['throws', 'INTERNAL', /model 'faulty': its backend failed to [a-z ]+: an injected exception/],
  ['lacks_memory', 'UNAVAILABLE', /model 'faulty': its backend failed to [a-z ]+: no memory/],
] as const;

for (const at of ['load', 'configure', 'instance']) {
  void suite(`a backend that goes wrong at ${at} fails the load`, () => {
    for (const [kind, code, message] of kinds) {
      test(kind, async (t) => {
        const model = faulty({ parameters: { load_fault: kind, at } });
        const error = await rejection(serve(t, { faulty: model, echo: identity() }));
        assert.equal(error.code, code);
        assert.match(error.message, message);
        assert.equal(error.model, 'faulty');
      });
    }
  });
}

test('the other models of a server are served', async (t) => {
  const model = faulty({ parameters: { load_fault: 'throws', at: 'instance' } });
  const server = await serve(t, { faulty: model, echo: identity() }, { exitOnError: false });
  assert.deepEqual(floats(await server.infer('echo', { x: row(2) })), [...row(2)]);
  const error = await rejection(server.infer('faulty', asking('none')));
  assert.equal(error.code, 'UNAVAILABLE');
  assert.match(error.message, /an injected exception/);
});

test('only an addon that has the backend lists it', async (t) => {
  const server = await serve(t, {});
  assert.deepEqual(server.metadata().backends, [
    'fault',
    'fil',
    'identity',
    'javascript',
    'onnxruntime',
    'openvino',
    'plugin',
    'probe',
    'python',
    'pytorch',
    'stream',
    'tensorflow',
    'tensorrt',
  ]);
});

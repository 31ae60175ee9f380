/** When the identities of ensembles change, for a cache outside of the process. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addon } from '../../../src/addon/load.js';
import type { NativeServer } from '../../../src/addon/native/server.js';
import { registerCache } from '../../../src/cache/registered-caches.js';
import { addModel } from '../../support/models.js';
import { chain, ensemble, onnx, serve } from '../../support/harness.js';

const cached = 'response_cache { enable: true }';

test('no ensemble has its old identity while one inside it is bound to new models', async (t) => {
  registerCache('ensemble-identities', {
    lookup: (keys) => keys.map(() => undefined),
    insert: () => undefined,
  });
  /** By uid. */
  const names = new Map<number, string>();
  const bound: { readonly name: string; readonly identity: string }[] = [];
  const native = addon();
  const createServer = native.createServer.bind(native);
  // The engine's own objects, whose functions note their calls.
  native.createServer = (...args) => {
    const made = createServer(...args);
    assert.ok(made);
    const addEnsemble = made.addEnsemble.bind(made);
    const bindEnsemble = made.bindEnsemble.bind(made);
    const noted: Pick<NativeServer, 'addEnsemble' | 'bindEnsemble'> = {
      addEnsemble: (...given) => {
        const uid = addEnsemble(...given);
        names.set(uid, given[0]);
        return uid;
      },
      bindEnsemble: (...given) => {
        bound.push({ name: names.get(given[0]) ?? '', identity: given[2] });
        return bindEnsemble(...given);
      },
    };
    // They are not writable in its prototype.
    Object.defineProperties(made, Object.getOwnPropertyDescriptors(noted));
    return made;
  };
  t.after(() => {
    native.createServer = createServer;
  });
  const server = await serve(
    t,
    {
      add: onnx(addModel(), { more: cached }),
      // The outer ones have the model themselves, too, or come first in the alphabet.
      mixed: ensemble(chain(['add', 'inner']), { more: cached }),
      around: ensemble(chain(['mixed', 'inner']), { more: cached }),
      inner: ensemble(chain(['add']), { more: cached }),
      other: ensemble(chain(['add']), { more: cached }),
    },
    {
      modelControlMode: 'explicit',
      loadModels: ['*'],
      cacheConfig: { 'ensemble-identities': {} },
    },
  );
  const all = ['around', 'inner', 'mixed', 'other'];
  const before = new Map(bound.map(({ name, identity }) => [name, identity]));
  assert.deepEqual([...before.keys()].sort(), all);
  bound.length = 0;

  const { config } = server.model('add');
  await server.loadModel('add', { config, files: { '1/model.onnx': addModel({ addend: 5 }) } });
  const withdrawn = bound.splice(0, all.length);
  assert.deepEqual(withdrawn.map(({ name }) => name).sort(), all);
  assert.ok(withdrawn.every(({ identity }) => identity === ''));
  assert.deepEqual(bound.map(({ name }) => name).sort(), all);
  const at = (name: string): number => bound.findIndex((one) => one.name === name);
  assert.ok(at('inner') < at('mixed') && at('mixed') < at('around'));
  for (const { name, identity } of bound) assert.ok(identity !== '' && identity !== before.get(name), name);

  // The old model gives the old identities again, so each of them stands for all models below.
  bound.length = 0;
  await server.loadModel('add', { force: true });
  for (const { name, identity } of bound.slice(all.length)) assert.equal(identity, before.get(name), name);
  const { outputs } = await server.infer('around', { x: new Float32Array(16) });
  assert.equal(outputs['y']?.data[0], 3);
});

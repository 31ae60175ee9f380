import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { test } from 'node:test';
import { addon } from '../../src/addon/load.js';
import { spinCores } from '../../src/scheduling/spin.js';

/** The result of `action` with this value of TRITONTS_SPIN. */
function withSpin<T>(value: string | undefined, action: () => T): T {
  const before = process.env['TRITONTS_SPIN'];
  const set = (text: string | undefined): void => {
    if (text === undefined) delete process.env['TRITONTS_SPIN'];
    else process.env['TRITONTS_SPIN'] = text;
  };
  set(value);
  try {
    return action();
  } finally {
    set(before);
  }
}

test('the JS thread keeps a core', () => {
  withSpin(undefined, () => {
    assert.equal(spinCores(1), 0);
    assert.equal(spinCores(addon().wholeCores()), addon().wholeCores() - 1);
  });
});

test('no more cores than there are', () => {
  withSpin(undefined, () => {
    assert.ok(spinCores(1000) < availableParallelism());
    assert.equal(spinCores(1000), addon().wholeCores() - 1);
  });
});

test('TRITONTS_SPIN=0 leaves none', () => {
  assert.equal(
    withSpin('0', () => spinCores(1000)),
    0,
  );
});

/** Values that no caller should pass, for tests of robustness. */

import { detach } from '../tensor/encode.js';

/** The error that the values below throw, which may come out unchanged. */
export class OwnError extends Error {}

function fail(): never {
  throw new OwnError('thrown by the caller');
}

function deeplyNested(depth: number): unknown[] {
  let value: unknown[] = [1];
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

function cyclic(): unknown[] {
  const value: unknown[] = [];
  value.push(value);
  return value;
}

function selfReferent(): object {
  const value: Record<string, unknown> = {};
  value['self'] = value;
  return value;
}

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function sparse(length: number): unknown[] {
  const value: unknown[] = [];
  value.length = length;
  return value;
}

const traps: ProxyHandler<object> = {
  get: fail,
  has: fail,
  ownKeys: fail,
  getOwnPropertyDescriptor: fail,
  getPrototypeOf: fail,
};

/** Factories of hostile values, by name. Each call makes a new value, because some change when they are read. */
export const hostileValues: Readonly<Record<string, () => unknown>> = {
  null: () => null,
  true: () => true,
  'an empty text': () => '',
  'a text with a NUL': () => 'a\0b',
  'half a surrogate pair': () => '\ud800',
  'a long text': () => 'x'.repeat(2 ** 20),
  '-1': () => -1,
  '0.5': () => 0.5,
  NaN: () => NaN,
  Infinity: () => Infinity,
  '2^53': () => 2 ** 53,
  '1e308': () => 1e308,
  'a bigint': () => 10n ** 400n,
  'a symbol': () => Symbol('s'),
  'a function': () => () => 1,
  'a promise': () => Promise.resolve(1),
  'a date': () => new Date(NaN),
  'a regular expression': () => /x/,
  'a map': () => new Map([['a', 1]]),
  'an object without a prototype': () => Object.create(null) as object,
  'an object with keys': () => ({ nonsense: 1 }),
  'an object with a symbol': () => ({ [Symbol('s')]: 1 }),
  'values that are no values': () => ({
    a: Symbol('s'),
    b: null,
    c: () => 1,
    d: Object.create(null) as object,
  }),
  'an object that refers to itself': selfReferent,
  'a getter that throws': () => Object.defineProperty({}, 'data', { get: fail, enumerable: true }),
  'getters that throw everywhere': () =>
    Object.defineProperties(
      {},
      Object.fromEntries(
        ['data', 'shape', 'x', 'm', 'id', 'version', 'timeoutMs', 'files', 'config', 'port', 'name'].map(
          (key) => [key, { get: fail, enumerable: true }],
        ),
      ),
    ),
  'what cannot become text': () => ({ toString: fail, valueOf: fail, [Symbol.toPrimitive]: fail }),
  'a proxy that throws': () => new Proxy({}, traps),
  'a proxy of an array that throws': () => new Proxy<object>([], traps),
  'a revoked proxy': revoked,
  'a proxy of a function': () => new Proxy(() => 1, {}),
  'a list of nulls': () => [null, null],
  'a list of symbols': () => [Symbol('s')],
  'a list of what cannot become text': () => [Object.create(null) as object],
  'an empty list': () => [],
  'a nested list': () => [[[[1]]]],
  'a list that holds itself': cyclic,
  'a deep list': () => deeplyNested(100_000),
  'a sparse list': () => sparse(2 ** 32 - 1),
  'a list of 2^27': () => sparse(2 ** 27),
  'a detached array': () => detach(new Float32Array(16)),
  'a detached buffer': () => detach(new Float32Array(16)).buffer,
  'shared memory': () => new Float32Array(new SharedArrayBuffer(64)),
  'shared bytes': () => new Uint8Array(new SharedArrayBuffer(3)),
  'memory that grows': () => new Float32Array(growable()),
  'a view outside its memory': () => {
    const buffer = growable();
    const view = new Float32Array(buffer, 16, 4);
    buffer.resize(8);
    return view;
  },
  'a DataView': () => new DataView(new ArrayBuffer(8)),
  'a URL that is no file': () => new URL('http://[::1]/'),
  'a file URL with a host': () => new URL('file://host/%2F'),
  'a class': () => OwnError,
  'an error': () => new OwnError('passed'),
};

/** TypeScript's library of this version of the language has no `resize`. */
function growable(): ArrayBuffer & { resize(size: number): void } {
  const Growable = ArrayBuffer as unknown as new (
    size: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer & { resize(size: number): void };
  return new Growable(64, { maxByteLength: 128 });
}

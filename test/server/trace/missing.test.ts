/** Packages of OpenTelemetry that are not installed. */

import assert from 'node:assert/strict';
import Module from 'node:module';
import { test } from 'node:test';
import { identity, rejection, row, serve, type Context } from '../../support/harness.js';

/** The function by which Node finds what `require` names. */
interface Resolver {
  _resolveFilename: (this: unknown, request: string, ...rest: unknown[]) => string;
}

/** Hides packages until the end of the test. */
function hide(t: Context, hidden: RegExp): void {
  const resolver = Module as unknown as Resolver;
  const real = resolver._resolveFilename;
  resolver._resolveFilename = (request, ...rest) => {
    if (hidden.test(request)) throw new Error(`Cannot find module '${request}'`);
    return real.call(resolver, request, ...rest);
  };
  t.after(() => {
    resolver._resolveFilename = real;
    return Promise.resolve();
  });
}

const models = { m: identity() };

test('a server that needs them says what to install', async (t) => {
  hide(t, /^@opentelemetry\//);
  const own = await rejection(serve(t, models, { traceConfig: { mode: 'opentelemetry' } }));
  assert.deepEqual([own.code, own.reason], ['UNAVAILABLE', 'MISSING']);
  assert.match(own.message, /needs the package @opentelemetry\/api: npm install @opentelemetry\/api \(/);
  const sent = await rejection(
    serve(t, models, { traceConfig: { mode: 'opentelemetry', openTelemetry: {} } }),
  );
  assert.match(
    sent.message,
    /npm install @opentelemetry\/api @opentelemetry\/sdk-trace-base @opentelemetry\/exporter-trace-otlp-http @opentelemetry\/resources \(/,
  );
});

test('a server that writes files does not', async (t) => {
  hide(t, /^@opentelemetry\//);
  const registered = Symbol.for('opentelemetry.js.api.1');
  Object.assign(globalThis, { [registered]: {} });
  t.after(() => {
    Reflect.deleteProperty(globalThis, registered);
  });
  const server = await serve(t, models);
  await server.infer('m', { x: row() });
});

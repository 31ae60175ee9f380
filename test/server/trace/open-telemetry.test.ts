/** Spans of requests: with the program's own provider, and sent by the server. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { context, trace, TraceFlags, type Span } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base';
import { connectServer } from '../../../src/client/index.js';
import { serveGrpc } from '../../../src/endpoints/grpc/serve.js';
import { serveHttp } from '../../../src/endpoints/http/serve.js';
import { createServer, type GivenModel, type InferenceServer, type TraceConfig } from '../../../src/index.js';
import { endpointOf as grpcOf, foreign } from '../../endpoints/grpc/harness.js';
import { ask, endpointOf as httpOf } from '../../endpoints/http/harness.js';
import {
  chain,
  ensemble,
  identity,
  rejection,
  row,
  serve,
  until,
  type Context,
} from '../../support/harness.js';
import { attributesOf, otlpReceiver, treeOf, type OtlpReceiver } from '../../support/otlp-receiver.js';

const models = { e: ensemble(chain(['m', 'm2'])), m: identity(), m2: identity() };
const spansOf = { mode: 'opentelemetry', level: 'TIMESTAMPS', rate: 1 } as const;
const computeLine = 'compute: COMPUTE_START COMPUTE_INPUT_END COMPUTE_OUTPUT_START COMPUTE_END';
const modelLine = (name: string): string => `${name}: REQUEST_START QUEUE_START REQUEST_END`;

interface Provider {
  readonly spans: () => ReadableSpan[];
  /** Runs an action while a span of this name is active. */
  readonly inSpan: <T>(name: string, action: (span: Span) => Promise<T>) => Promise<T>;
}

/** Sets OpenTelemetry up, as a program does it. */
function provider(t: Context): Provider {
  const exporter = new InMemorySpanExporter();
  const tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(tracers);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  t.after(async () => {
    await tracers.shutdown();
    trace.disable();
    context.disable();
  });
  return {
    spans: () => exporter.getFinishedSpans(),
    inSpan: (name, action) =>
      trace.getTracer('test').startActiveSpan(name, async (span) => {
        try {
          return await action(span);
        } finally {
          span.end();
        }
      }),
  };
}

/** The names of a span's ancestors, from the outermost on, and its own. */
function pathOf(span: ReadableSpan, all: readonly ReadableSpan[]): string {
  const parent = all.find((one) => one.spanContext().spanId === span.parentSpanContext?.spanId);
  return parent === undefined ? span.name : `${pathOf(parent, all)}/${span.name}`;
}

test("a program's calls are spans below the one that is active", async (t) => {
  const { spans, inSpan } = provider(t);
  const server = await serve(t, models, { traceConfig: { ...spansOf, rate: 0 } });
  await server.infer('m', { x: row() });
  await inSpan('work', async () => {
    await server.infer('e', { x: row() }, { id: 'r' });
    for await (const _ of server.stream('m', { x: row() }));
    for await (const _ of server.model('m').map([{ x: row() }]));
  });
  await server.close();
  const all = spans();
  const paths = all.map((span) => pathOf(span, all)).sort();
  const plain = ['work/InferRequest', 'work/InferRequest/m', 'work/InferRequest/m/compute'];
  assert.deepEqual(
    paths,
    [
      ...['work', 'work/InferRequest', 'work/InferRequest/e'],
      ...['m', 'm2'].flatMap((name) => [
        `work/InferRequest/e/${name}`,
        `work/InferRequest/e/${name}/compute`,
      ]),
      ...plain,
      ...plain,
    ].sort(),
  );
  const e = all.find(({ name }) => name === 'e');
  assert.equal(e?.attributes['triton.request_id'], 'r');
  assert.equal(e.instrumentationScope.name, 'triton-server');
  const work = all.find(({ name }) => name === 'work');
  assert.ok(work && e.startTime >= work.startTime, 'the times are those of the wall clock');
});

test('calls below a span that is not recorded are no spans, and others are by the rate', async (t) => {
  const { spans } = provider(t);
  const server = await serve(t, models, { traceConfig: spansOf });
  const unrecorded = trace.wrapSpanContext({
    ...{
      traceId: '0af7651916cd43dd8448eb211c80319c',
      spanId: 'b7ad6b7169203331',
      traceFlags: TraceFlags.NONE,
    },
  });
  await context.with(trace.setSpan(context.active(), unrecorded), () => server.infer('m', { x: row() }));
  await server.infer('m2', { x: row() });
  await rejection(server.infer('m', { x: row(0, 3) }));
  await server.close();
  assert.deepEqual(
    spans()
      .map(({ name }) => name)
      .sort(),
    ['InferRequest', 'compute', 'm2'],
  );
});

test("calls of a model are inside of the model's span", async (t) => {
  const { spans } = provider(t);
  const config: GivenModel['config'] = {
    max_batch_size: 8,
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
  };
  const dataOf = (tensor: unknown): Float32Array => (tensor as { data: Float32Array }).data;
  const inner: GivenModel = {
    config,
    execute: (requests) => requests.map(({ inputs: { x } }) => ({ y: dataOf(x) })),
  };
  const caller: GivenModel = {
    config,
    execute: (requests) =>
      Promise.all(
        requests.map(async (request) => {
          const { outputs } = await server.infer(
            'inner',
            { x: dataOf(request.inputs['x']) },
            { parent: request },
          );
          return { y: dataOf(outputs['y']) };
        }),
      ),
  };
  const server: InferenceServer = await createServer({ models: { caller, inner }, traceConfig: spansOf });
  t.after(() => server.close());
  await server.infer('caller', { x: Float32Array.of(1) });
  await server.close();
  const all = spans();
  assert.ok(
    all.map((span) => pathOf(span, all)).includes('InferRequest/caller/inner/compute'),
    all.map((span) => pathOf(span, all)).join(),
  );
});

/** A server whose endpoints send spans to a collector. */
async function sending(
  t: Context,
  config: TraceConfig = {},
): Promise<{ readonly receiver: OtlpReceiver; readonly server: InferenceServer }> {
  const receiver = await otlpReceiver(t);
  const openTelemetry = { url: receiver.url, scheduleDelayMs: 10 };
  const server = await serve(t, models, { traceConfig: { ...spansOf, ...config, openTelemetry } });
  return { receiver, server };
}

test('requests over HTTP and gRPC continue the traces of their headers', async (t) => {
  const { receiver, server } = await sending(t, { rate: 0 });
  const http = await httpOf(t, server);
  const client = await foreign(t, await grpcOf(t, server));
  const traceId = '0af7651916cd43dd8448eb211c80319c';
  const traceparent = `00-${traceId}-b7ad6b7169203331-01`;
  const body = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] };
  const post = (headers: Record<string, string>): Promise<unknown> =>
    ask(http, '/v2/models/e/infer', { body: { ...body, id: 'h' }, headers });
  await post({ traceparent, tracestate: 'vendor=x' });
  for (const wrong of ['', 'x', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`, `${traceparent}-x`])
    await post({ traceparent: wrong });
  const call = {
    ...{ model_name: 'm', inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }] },
    raw_input_contents: [Buffer.from(row().buffer)],
  };
  await client.call('ModelInfer', call, { metadata: { traceparent } });
  await client.call('ModelInfer', call);
  await until(
    () =>
      receiver.spans.filter(({ name }) => name === 'InferRequest').length === 3 || receiver.spans.length >= 9,
  );
  await server.close();
  const roots = receiver.spans.filter(({ parentSpanId: parent }) => parent === 'b7ad6b7169203331');
  const http1 = receiver.spans.filter(({ traceId: id }) => id === traceId);
  assert.equal(http1.length, receiver.spans.length, 'requests without a valid header are not traced');
  assert.deepEqual(
    roots.map(({ traceState }) => traceState),
    ['vendor=x', undefined],
  );
  assert.deepEqual(treeOf(receiver.spans), [
    'InferRequest: HTTP_RECV_START HTTP_RECV_END INFER_RESPONSE_COMPLETE HTTP_SEND_START HTTP_SEND_END',
    `  ${modelLine('e')}`,
    ...['m', 'm2'].flatMap((name) => [`    ${modelLine(name)}`, `      ${computeLine}`]),
    'InferRequest: GRPC_WAITREAD_START GRPC_WAITREAD_END INFER_RESPONSE_COMPLETE GRPC_SEND_START GRPC_SEND_END',
    `  ${modelLine('m')}`,
    `    ${computeLine}`,
  ]);
  const e = receiver.spans.find(({ name }) => name === 'e');
  assert.equal(attributesOf(e?.attributes)['triton.request_id'], 'h');
});

test('connectServer tells the active span', async (t) => {
  const { inSpan } = provider(t);
  const { receiver, server } = await sending(t, { rate: 0 });
  const http = await serveHttp(server, { port: 0 });
  const grpc = await serveGrpc(server, { port: 0 });
  t.after(() => Promise.all([http.close(), grpc.close()]).then(() => undefined));
  for (const url of [`http://127.0.0.1:${http.address.port}`, `grpc://127.0.0.1:${grpc.address.port}`]) {
    const remote = await connectServer(url);
    await remote.infer('m', { x: row() });
    const traceId = await inSpan('remote work', async (span) => {
      await remote.infer('m', { x: row() });
      return span.spanContext().traceId;
    });
    await until(() => receiver.spans.filter(({ traceId: id }) => id === traceId).length === 3);
    await remote.close();
  }
  assert.equal(receiver.spans.length, 6);
});

test('level OFF makes no spans, until it is changed', async (t) => {
  const { receiver, server } = await sending(t, { level: 'OFF' });
  await server.infer('m', { x: row() });
  server.trace.update({ level: 'TIMESTAMPS' }, 'm2');
  await server.infer('m', { x: row() });
  await server.infer('m2', { x: row() });
  await server.close();
  assert.deepEqual(treeOf(receiver.spans), ['InferRequest: ', `  ${modelLine('m2')}`, `    ${computeLine}`]);
});

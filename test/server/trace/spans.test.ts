/** Spans of finished traces, as a collector gets them. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NativeTracing } from '../../../src/addon/native/trace.js';
import { resolveLogger } from '../../../src/logger.js';
import type { FinishedTrace } from '../../../src/server/trace/finished-trace.js';
import { SpanPump } from '../../../src/server/trace/span-pump.js';
import { openSpanSink } from '../../../src/server/trace/span-sink.js';
import { checkTraceConfig, type OpenTelemetryOptions } from '../../../src/trace-config.js';
import type { Context } from '../../support/harness.js';
import {
  attributesOf,
  otlpReceiver,
  treeOf,
  type OtlpReceiver,
  type OtlpSpan,
} from '../../support/otlp-receiver.js';

/** A trace whose time stamps are a microsecond apart, from `first` on. */
function traceOf(given: Partial<FinishedTrace>, first: number, ...names: readonly string[]): FinishedTrace {
  return {
    ...{
      id: 1,
      parent_id: 0,
      model_name: 'm',
      model_version: 1,
      request_id: '',
      context: '',
      offset_ns: '1000000000000000000',
    },
    timestamps: names.map((name, i) => ({ name, ns: `${first + 1000 * i}` })),
    ...given,
  };
}

const compute = ['COMPUTE_START', 'COMPUTE_INPUT_END', 'COMPUTE_OUTPUT_START', 'COMPUTE_END'];

interface Sent {
  readonly receiver: OtlpReceiver;
  readonly warnings: string[];
}

/** Sends traces to a collector: each list is taken at once. */
async function send(
  t: Context,
  traces: readonly (readonly FinishedTrace[])[],
  options: OpenTelemetryOptions = {},
  status = 200,
): Promise<Sent> {
  const receiver = await otlpReceiver(t);
  receiver.status = status;
  const warnings: string[] = [];
  const log = resolveLogger({ warn: (text: string) => warnings.push(text) });
  const config = checkTraceConfig(
    { mode: 'opentelemetry', openTelemetry: { url: receiver.url, ...options } },
    '/',
  );
  const sink = openSpanSink(config, log);
  assert.ok(sink);
  const texts = traces.map((list) => JSON.stringify(list));
  const native: Pick<NativeTracing, 'takeTraces'> = { takeTraces: () => texts.shift() ?? '' };
  // The pump calls no other function.
  const pump = new SpanPump(t, native as NativeTracing, sink);
  while (texts.length > 1) await new Promise((resolve) => setTimeout(resolve, 20));
  await pump.close();
  return { receiver, warnings };
}

function spanNamed(spans: readonly OtlpSpan[], name: string): OtlpSpan {
  const span = spans.find((one) => one.name === name);
  assert.ok(span, name);
  return span;
}

test('a request over HTTP: its span, the model inside of it, and the run inside of the model', async (t) => {
  const names = ['HTTP_RECV_START', 'HTTP_RECV_END', 'REQUEST_START', 'QUEUE_START', ...compute];
  const trace = traceOf(
    { id: 7, request_id: 'r' },
    5000,
    ...[...names, 'INFER_RESPONSE_COMPLETE', 'REQUEST_END', 'HTTP_SEND_START', 'HTTP_SEND_END'],
  );
  const { receiver } = await send(t, [[trace]], { resource: { team: 'a' } });
  assert.deepEqual(treeOf(receiver.spans), [
    'InferRequest: HTTP_RECV_START HTTP_RECV_END INFER_RESPONSE_COMPLETE HTTP_SEND_START HTTP_SEND_END',
    '  m: REQUEST_START QUEUE_START REQUEST_END',
    '    compute: COMPUTE_START COMPUTE_INPUT_END COMPUTE_OUTPUT_START COMPUTE_END',
  ]);
  const model = spanNamed(receiver.spans, 'm');
  assert.deepEqual(attributesOf(model.attributes), {
    ...{ 'triton.model_name': 'm', 'triton.model_version': 1, 'triton.trace_id': 7 },
    ...{ 'triton.trace_parent_id': 0, 'triton.request_id': 'r' },
  });
  assert.deepEqual([...new Set(receiver.spans.map(({ kind }) => kind))], [2], 'all are of kind SERVER');
  assert.equal(spanNamed(receiver.spans, 'InferRequest').startTimeUnixNano, '1000000000000005000');
  assert.equal(model.startTimeUnixNano, '1000000000000007000');
  assert.equal(model.endTimeUnixNano, '1000000000000014000');
  assert.deepEqual([...receiver.scopes, ...receiver.contentTypes], ['triton-server', 'application/json']);
  assert.equal(receiver.resource['service.name'], 'triton-inference-server');
  assert.equal(receiver.resource['team'], 'a');
});

test("an ensemble's steps are inside of its span, whenever they are taken", async (t) => {
  const whole = ['REQUEST_START', 'QUEUE_START', ...compute, 'REQUEST_END'];
  const first = traceOf({ id: 2, parent_id: 1, model_name: 'first' }, 20_000, ...whole);
  const inner = traceOf({ id: 4, parent_id: 3, model_name: 'called' }, 42_000, ...whole);
  const second = traceOf(
    { id: 3, parent_id: 1, model_name: 'second' },
    40_000,
    ...whole.slice(0, 2),
    'REQUEST_END',
  );
  const ensemble: FinishedTrace = {
    ...traceOf(
      { model_name: 'pipeline' },
      10_000,
      'GRPC_WAITREAD_START',
      'GRPC_WAITREAD_END',
      'REQUEST_START',
      'QUEUE_START',
    ),
  };
  const end = { name: 'REQUEST_END', ns: '60000' };
  const { receiver } = await send(t, [
    [first],
    [inner, second],
    [{ ...ensemble, timestamps: [...ensemble.timestamps, end] }],
  ]);
  assert.deepEqual(treeOf(receiver.spans), [
    'InferRequest: GRPC_WAITREAD_START GRPC_WAITREAD_END',
    '  pipeline: REQUEST_START QUEUE_START REQUEST_END',
    '    first: REQUEST_START QUEUE_START REQUEST_END',
    '      compute: COMPUTE_START COMPUTE_INPUT_END COMPUTE_OUTPUT_START COMPUTE_END',
    '    second: REQUEST_START QUEUE_START REQUEST_END',
    '      called: REQUEST_START QUEUE_START REQUEST_END',
    '        compute: COMPUTE_START COMPUTE_INPUT_END COMPUTE_OUTPUT_START COMPUTE_END',
  ]);
  assert.equal(new Set(receiver.spans.map(({ traceId }) => traceId)).size, 1);
  assert.equal(attributesOf(spanNamed(receiver.spans, 'called').attributes)['triton.trace_parent_id'], 3);
});

test("a caller's trace is continued, also if the caller does not record it", async (t) => {
  for (const flags of ['01', '00']) {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const context = `00-${traceId}-b7ad6b7169203331-${flags}\nvendor=x`;
    const { receiver } = await send(t, [[traceOf({ context }, 1, 'REQUEST_START', 'REQUEST_END')]]);
    const root = spanNamed(receiver.spans, 'InferRequest');
    assert.deepEqual(
      [root.traceId, root.parentSpanId, root.traceState],
      [traceId, 'b7ad6b7169203331', 'vendor=x'],
    );
    assert.equal(spanNamed(receiver.spans, 'm').parentSpanId, root.spanId);
  }
});

test("a model's own time stamps open and close spans, and others are events", async (t) => {
  const { receiver } = await send(t, [
    [
      traceOf(
        {},
        0,
        ...[
          'REQUEST_START',
          'COMPUTE_START',
          'DECODE_START',
          'STEP_START',
          'token',
          'STEP_END',
          'DECODE_END',
        ],
        ...['OTHER_END', 'COMPUTE_END', 'UNENDED_START', 'late', 'REQUEST_END'],
      ),
    ],
  ]);
  assert.deepEqual(treeOf(receiver.spans), [
    'InferRequest: ',
    '  m: REQUEST_START REQUEST_END',
    '    compute: COMPUTE_START OTHER_END COMPUTE_END',
    '      DECODE: DECODE_START DECODE_END',
    '        STEP: STEP_START token STEP_END',
    '    UNENDED: UNENDED_START late',
  ]);
  assert.equal(
    spanNamed(receiver.spans, 'UNENDED').endTimeUnixNano,
    spanNamed(receiver.spans, 'm').endTimeUnixNano,
  );
});

test('the error of a request is the status of its spans', async (t) => {
  const { receiver } = await send(t, [[traceOf({ error: 'no luck' }, 0, 'REQUEST_START', 'REQUEST_END')]]);
  assert.deepEqual(
    receiver.spans.map(({ status }) => status),
    [
      { code: 2, message: 'no luck' },
      { code: 2, message: 'no luck' },
    ],
  );
});

test('a collector that refuses is logged once', async (t) => {
  const traces = [1, 2, 3].map((id) => traceOf({ id }, 0, 'REQUEST_START', 'REQUEST_END'));
  const { receiver, warnings } = await send(t, [traces], { maxExportBatchSize: 1 }, 400);
  assert.deepEqual(receiver.spans, []);
  assert.equal(warnings.length, 1);
  assert.match(warnings[0] ?? '', /^traces cannot be sent to http:\/\/127\.0\.0\.1:/);
});

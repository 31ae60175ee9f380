/** Traces of `tritonts serve`: to a file, and to a collector. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ask, json } from '../../endpoints/http/harness.js';
import { identity, until } from '../../support/harness.js';
import { otlpReceiver, treeOf } from '../../support/otlp-receiver.js';
import { temporaryFolder } from '../../support/repository.js';
import { anyPorts, oneRow, repositoryOf, run } from './harness.js';

test('--trace-config writes a file, which is complete when the server has ended', async (t) => {
  const repository = await repositoryOf(t, { one: identity() });
  const file = join(await temporaryFolder(t), 'trace.json');
  const flags = ['level=TIMESTAMPS', 'level=TENSORS', 'rate=1', `triton,file=${file}`];
  const served = run(t, repository, ...anyPorts, ...flags.map((flag) => `--trace-config=${flag}`));
  const http = await served.place('HTTPService');
  assert.deepEqual(json(await ask(http, '/v2/trace/setting')), {
    ...{ trace_level: ['TIMESTAMPS', 'TENSORS'], trace_rate: '1', trace_count: '-1', log_frequency: '0' },
    ...{ trace_file: file, trace_mode: 'triton' },
  });
  assert.equal((await ask(http, '/v2/models/one/infer', { body: oneRow })).status, 200);
  served.child.kill('SIGTERM');
  assert.equal((await served.ended).code, 0);
  const entries = JSON.parse(await readFile(file, 'utf8')) as readonly { readonly model_name?: string }[];
  assert.deepEqual(
    entries.flatMap(({ model_name: name }) => name ?? []),
    ['one'],
  );
});

test('--trace-config=opentelemetry,url sends spans, also the last ones', async (t) => {
  const receiver = await otlpReceiver(t);
  const repository = await repositoryOf(t, { one: identity() });
  const flags = [
    ...['mode=opentelemetry', 'level=TIMESTAMPS', 'rate=1', `opentelemetry,url=${receiver.url}`],
    ...['opentelemetry,resource=service.name=mine', 'opentelemetry,bsp_schedule_delay=60000'],
  ];
  const served = run(t, repository, ...anyPorts, ...flags.map((flag) => `--trace-config=${flag}`));
  const http = await served.place('HTTPService');
  await ask(http, '/v2/models/one/infer', { body: oneRow });
  served.child.kill('SIGTERM');
  assert.equal((await served.ended).code, 0);
  await until(() => receiver.spans.length > 0);
  assert.deepEqual(treeOf(receiver.spans), [
    'InferRequest: HTTP_RECV_START HTTP_RECV_END INFER_RESPONSE_COMPLETE HTTP_SEND_START HTTP_SEND_END',
    '  one: REQUEST_START QUEUE_START REQUEST_END',
    '    compute: COMPUTE_START COMPUTE_INPUT_END COMPUTE_OUTPUT_START COMPUTE_END',
  ]);
  assert.equal(receiver.resource['service.name'], 'mine');
});

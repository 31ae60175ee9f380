/** Messages of calls other than inference: refusals before objects are made, and defaults. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, test } from 'node:test';
import { modelRepository } from '../../examples/digits/data.js';
import { Messages } from '../../src/protocol/protobuf/messages.js';
import { UnreadableMessage } from '../../src/protocol/protobuf/reader.js';

const mostFields = 1000;
const messages = new Messages('inference', mostFields);

/** A field of bytes. */
function field(number: number, value: Uint8Array): Buffer {
  const size: number[] = [];
  let rest = value.length;
  for (; rest >= 128; rest = Math.floor(rest / 128)) size.push((rest % 128) | 128);
  return Buffer.concat([Buffer.from([number * 8 + 2, ...size, rest]), value]);
}
const text = (number: number, value: string): Buffer => field(number, Buffer.from(value));
const many = (count: number, part: Buffer): Buffer => Buffer.alloc(count * part.length, part);

describe('a message is refused before it is decoded', () => {
  const entry = field(3, Buffer.concat([text(1, 'config'), field(2, text(3, '{}'))]));
  const named = Array.from({ length: 400 }, (_, i) => field(3, text(1, i.toString(36))));
  const nested = (depth: number): Buffer =>
    Array.from({ length: depth }).reduce<Buffer>((inner) => field(2, inner), Buffer.alloc(0));
  const cases: Readonly<Record<string, readonly [type: string, bytes: Buffer, error: RegExp]>> = {
    'many parameters': [
      'RepositoryModelLoadRequest',
      Buffer.concat([...named, ...named]),
      /more than 1000 f/,
    ],
    'one name many times': ['RepositoryModelLoadRequest', many(1_000_000, entry), /more than 1000 fields/],
    'many unknown fields': ['ModelReadyRequest', many(1_000_000, Buffer.of(15 * 8, 1)), /more than 1000/],
    'unknown fields of an entry': [
      'RepositoryModelLoadRequest',
      field(3, many(2000, Buffer.of(15 * 8, 1))),
      /more than 1000 fields/,
    ],
    'a long packed list': [
      'ModelMetadataResponse',
      field(4, field(3, Buffer.alloc(2000, 1))),
      /more than 1000 fields/,
    ],
    groups: ['ModelReadyRequest', many(1_000_000, Buffer.of(15 * 8 + 3)), /wire type 3/],
    'a field beyond its message': [
      'LogSettingsRequest',
      Buffer.of(10, 100, 0),
      /100 bytes, but only 1 are left/,
    ],
    'half an integer': ['RepositoryIndexRequest', Buffer.of(2 * 8, 128), /ends inside an integer/],
    'another wire type': ['ModelReadyRequest', Buffer.of(1 * 8, 1), /field name has the wire type 0/],
    'another wire type of a value': [
      'RepositoryModelLoadRequest',
      field(3, Buffer.of(2 * 8, 1)),
      /field parameters has the wire type 0/,
    ],
    'another wire type of a key': [
      'RepositoryModelLoadRequest',
      field(3, Buffer.of(1 * 8, 1)),
      /field parameters\.key has the wire type 0/,
    ],
    'an integer that is too large': [
      'LogSettingsRequest',
      field(
        1,
        Buffer.concat([text(1, 'log_verbose_level'), field(2, Buffer.of(2 * 8, 128, 128, 128, 128, 16))]),
      ),
      /uint32_param: 4294967296 is out of the range of uint32/,
    ],
    'a text that is not UTF-8': ['ModelReadyRequest', field(1, Buffer.of(0xff)), /utf-8/i],
  };
  for (const [what, [type, bytes, error]] of Object.entries(cases))
    test(what, () => {
      assert.throws(
        () => messages.read(type, bytes),
        (thrown) => thrown instanceof UnreadableMessage && error.test(thrown.message),
      );
    });

  test('messages in messages that the type does not have are passed over', () => {
    const { fields } = messages.read(
      'ModelReadyRequest',
      Buffer.concat([text(1, 'm'), field(9, nested(500))]),
    );
    assert.deepEqual(fields, { name: 'm' });
  });
});

test('a whole message has its defaults, in the order of the schema, and a written one has not', () => {
  const bytes = messages.write('ModelStatisticsResponse', {
    model_stats: [{ name: 'm', last_inference: 2 ** 53 - 1, response_stats: { '0': {} } }],
  });
  assert.deepEqual(messages.read('ModelStatisticsResponse', bytes).fields, {
    model_stats: [{ name: 'm', last_inference: 2 ** 53 - 1, response_stats: { '0': {} } }],
  });
  const { model_stats: all } = messages.readWhole('ModelStatisticsResponse', bytes);
  const [stats] = all as readonly Record<string, unknown>[];
  assert.ok(stats !== undefined);
  assert.deepEqual(Object.keys(stats), [
    ...['name', 'version', 'last_inference', 'inference_count', 'execution_count'],
    ...['inference_stats', 'batch_stats', 'memory_usage', 'response_stats'],
  ]);
  const none = { count: 0, ns: 0 };
  assert.deepEqual(stats['batch_stats'], []);
  assert.deepEqual((stats['inference_stats'] as Record<string, unknown>)['queue'], none);
  assert.deepEqual(
    (stats['response_stats'] as Record<string, Record<string, unknown>>)['0']?.['cancel'],
    none,
  );
});

test('of a oneof the last one counts, and a member with its default is there', () => {
  const both = Buffer.concat([Buffer.of(1 * 8, 1), text(3, '')]);
  const { fields } = messages.read('ModelRepositoryParameter', both);
  assert.deepEqual(fields, { string_param: '' });
});

test('a process that refuses functions made from strings is told so at once', () => {
  const file = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
  const script = `
const { createServer } = await import(${file('index.js')});
const { serveGrpc } = await import(${file('endpoints/grpc/serve.js')});
const { connectServer } = await import(${file('client/index.js')});
const server = await createServer(${JSON.stringify(modelRepository.href)}, { modelControlMode: 'explicit' });
for (const call of [() => serveGrpc(server, { port: 0 }), () => connectServer('grpc://127.0.0.1:1')])
  await call().then(() => console.log('done'), ({ code, message }) => console.log(code, message));
await server.close();
process.exit();`;
  const flags = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval', script];
  const told = execFileSync(process.execPath, flags, { encoding: 'utf8', timeout: 60_000 })
    .trim()
    .split('\n');
  assert.equal(told.length, 2);
  for (const line of told) assert.match(line, /^UNSUPPORTED .*protobufjs.*--disallow-code-generation/);
});

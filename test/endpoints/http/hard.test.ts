/** Input that no correct client sends is answered with a coded error, and the next request works. */

// Long: it waits for limits of time.

import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import type { Socket } from 'node:net';
import { suite, test } from 'node:test';
import { setTimeout as wait } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { HttpEndpoint } from '../../../src/endpoints/http/serve.js';
import { identity, row, serve, type Context } from '../../support/harness.js';
import { ask, binaryBody, endpointOf, errorOf, exchange, json, open } from './harness.js';

const path = '/v2/models/m/infer';
const good = { inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16], data: [...row()] }] };

/** An endpoint that takes 64 KiB. */
async function small(t: Context, requestTimeoutMs = 60_000): Promise<HttpEndpoint> {
  return endpointOf(t, await serve(t, { m: identity() }), { maxRequestBytes: 65_536, requestTimeoutMs });
}

async function works(endpoint: HttpEndpoint): Promise<void> {
  json(await ask(endpoint, path, { body: good }));
}

void suite('JSON', () => {
  const deep = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
  for (const [name, body, status, message] of [
    ['101 levels', `{"a":${deep(100)},"inputs":[]}`, 400, /100 levels/],
    ['a million brackets', '['.repeat(60_000), 400, /100 levels/],
    ['an end too much', '{}}', 400, /JSON/],
    ['bytes that are no UTF-8', Buffer.from('7b2261223a22ff227d', 'hex'), 400, /UTF-8/],
    ['NUL', Buffer.from('{"inputs":[]}\0'), 400, /JSON/],
    ['NaN as a key', '{NaN:1}', 400, /JSON/],
    ['a string without an end, and NaN', '{"inputs":NaN,"a":"', 400, /no end/],
    ['a control character in a string, and NaN', '{"inputs":NaN,"a":"\n"}', 400, /JSON/],
    ['words that nearly are', '{"inputs":Infinit}', 400, /JSON/],
    ['a number with a zero before it, and NaN', '[NaN,01]', 400, /JSON/],
    ['a comma too much, and NaN', '[NaN,]', 400, /JSON/],
    ['inputs by __proto__', '{"__proto__":{"inputs":[]}}', 400, /'inputs'/],
    ['a name by __proto__', '{"inputs":[{"__proto__":{"name":"x"}}]}', 400, /name/],
    [
      'an input named __proto__',
      '{"inputs":[{"name":"__proto__","datatype":"FP32","shape":[1],"data":[1]}]}',
      400,
      /__proto__/,
    ],
  ] as const) {
    test(name, async (t) => {
      const endpoint = await small(t);
      assert.match(errorOf(await ask(endpoint, path, { body }), status), message);
      assert.equal(({} as { inputs?: unknown }).inputs, undefined);
      await works(endpoint);
    });
  }

  test('100 levels are read', async (t) => {
    const endpoint = await small(t);
    json(await ask(endpoint, path, { body: { a: JSON.parse(deep(99)) as unknown, ...good } }));
  });

  test('of a key that is written twice the last counts, whichever parser reads it', async (t) => {
    const endpoint = await small(t);
    const data = `[${[...row()].join(',')}]`;
    for (const more of ['', ',"parameters":{"a":NaN}']) {
      const body = `{"id":"a","inputs":[{"name":"x","datatype":"FP32","shape":[1,16],"data":[],"data":${data}}],"id":"b"${more}}`;
      const answer = await ask(endpoint, path, { body });
      assert.equal((json(answer) as { id: string }).id, 'b');
    }
  });

  test('more parts than the limit', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    const body = `{"inputs":[${'[],'.repeat(1 << 20)}[]]}`;
    assert.match(errorOf(await ask(endpoint, path, { body }), 400), /than the limit of 1048576/);
    await works(endpoint);
  });

  test('more members of an object than the limit, wherever it is', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    const many = JSON.stringify(
      Object.fromEntries(Array.from({ length: 1_000_000 }, (_, i) => [`p${i}`, 0])),
    );
    const input = '"name":"x","datatype":"FP32","shape":[1,16]';
    for (const body of [
      many,
      `{"parameters":${many},"inputs":[]}`,
      `{"inputs":[{${input},"parameters":${many}}]}`,
      `{"inputs":[],"outputs":[{"name":"y","parameters":${many}}]}`,
    ]) {
      assert.match(errorOf(await ask(endpoint, path, { body }), 400), /more members than the limit of 8192/);
    }
    const few = JSON.stringify(Object.fromEntries(Array.from({ length: 8192 }, (_, i) => [`p${i}`, 0])));
    assert.match(errorOf(await ask(endpoint, path, { body: few }), 400), /inputs/);
    await works(endpoint);
  });

  test('more parameters than the limit, in process, too', async (t) => {
    const server = await serve(t, { m: identity() });
    const endpoint = await endpointOf(t, server);
    const many = Object.fromEntries(Array.from({ length: 4097 }, (_, i) => [`p${i}`, i]));
    const body = `{"inputs":[],"parameters":${JSON.stringify(many)}}`;
    assert.match(
      errorOf(await ask(endpoint, path, { body }), 400),
      /at most 4096 parameters but received 4097/,
    );
    await assert.rejects(
      server.model('m').infer({ x: Float32Array.from(row()) }, { parameters: many }),
      /at most 4096 parameters/,
    );
    await works(endpoint);
  });

  test('more elements than the limit, whichever parser would read them', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    for (const element of ['1,', '1.0,', '"",']) {
      const body = `{"inputs":[{"name":"x","datatype":"INT32","shape":[1,16],"data":[${element.repeat(1 << 22)}1,1]}]}`;
      assert.match(
        errorOf(await ask(endpoint, path, { body }), 400),
        /more elements than the limit of 4194304/,
      );
    }
    await works(endpoint);
  });

  test('numbers that JSON does not have, or that are beyond what a number holds', async (t) => {
    const endpoint = await small(t);
    const shown = (one: string): string => one.slice(0, 20);
    for (const wrong of [
      ...['1e400', '-1e400', '1E+400', '1e0400', `1${'0'.repeat(309)}`, `-${'9'.repeat(309)}.0`],
      ...[
        '-Infinity.5',
        'Infinity.5',
        'Infinity1',
        '-NaN',
        '+1',
        '.5',
        '1.',
        '-',
        '--1',
        '1e',
        '1e+',
        '-.5',
        '01',
        '-01',
      ],
      ...['1e5.5', '0x10', '1_0', '-Inf', 'INFINITY', 'nan'],
    ]) {
      for (const other of ['0', 'NaN', '12345678901234567890']) {
        const data = [wrong, other, ...Array<string>(14).fill('1')].join(',');
        const body = `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,16],"data":[${data}]}]}`;
        const parameter = `{"parameters":{"a":${wrong},"b":${other}},${JSON.stringify(good).slice(1)}`;
        for (const text of [body, parameter]) {
          const answer = await ask(endpoint, path, { body: text });
          assert.match(errorOf(answer, 400), /failed to parse the JSON/, `${shown(wrong)} beside ${other}`);
        }
      }
    }
    for (const right of ['1e38', '0.0e999', '1e-400', '-0', '-Infinity', 'NaN', `0.${'1'.repeat(400)}`]) {
      const data = [right, ...Array<string>(15).fill('1')].join(',');
      const body = `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,16],"data":[${data}]}]}`;
      assert.equal((await ask(endpoint, path, { body })).status, 200, shown(right));
    }
  });

  test('a number of a million digits', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    const body = `{"inputs":[{"name":"x","datatype":"FP32","shape":[1,16],"data":[${'9'.repeat(1 << 20)}]}]}`;
    errorOf(await ask(endpoint, path, { body }), 400);
    await works(endpoint);
  });
});

void suite('sizes', () => {
  const half = { name: 'x', datatype: 'FP32', shape: [1, 16] };

  test('a body over the limit, by its length and in chunks', async (t) => {
    const endpoint = await small(t);
    const body = Buffer.alloc(65_537, 32);
    assert.match(errorOf(await ask(endpoint, path, { body }), 400), /65536 bytes/);
    const headers = { 'Transfer-Encoding': 'chunked' };
    assert.match(errorOf(await ask(endpoint, path, { body, headers }), 400), /65536 bytes/);
    await works(endpoint);
  });

  test('a length that is never sent is refused at once', async (t) => {
    const endpoint = await small(t);
    const text = await exchange(
      t,
      endpoint,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999999\r\n\r\n`,
      /limit/,
    );
    assert.match(text, /^HTTP\/1\.1 400 /);
    await works(endpoint);
  });

  test('more chunks than the limit', async (t) => {
    const endpoint = await endpointOf(t, await serve(t, { m: identity() }));
    const text = await exchange(
      t,
      endpoint,
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'1\r\n \r\n'.repeat(65_537)}0\r\n\r\n`,
      /"error"/,
    );
    assert.match(text, /^HTTP\/1\.1 400 [^]*more chunks than the limit of 65536/);
    await works(endpoint);
  });

  for (const [name, value] of [
    ['beyond the body', '99999'],
    ['negative', '-1'],
    ['beyond 2^53', '99999999999999999999'],
  ] as const) {
    test(`Inference-Header-Content-Length ${name}`, async (t) => {
      const endpoint = await small(t);
      const headers = { 'Inference-Header-Content-Length': value };
      assert.match(
        errorOf(await ask(endpoint, path, { body: good, headers }), 400),
        /Inference-Header-Content-Length/,
      );
      await works(endpoint);
    });
  }

  for (const [name, size, bytes, message] of [
    ['more than the body has', 64, 60, /unexpected size/],
    ['other than the shape’s', 60, 60, /unexpected size for input 'x': expected 64 bytes/],
    ['0', 0, 0, /unexpected size/],
    ['bytes left over', 64, 65, /unexpected additional input data/],
    ['bytes that no input takes', undefined, 1, /unexpected additional input data/],
  ] as const) {
    test(`binary_data_size: ${name}`, async (t) => {
      const endpoint = await small(t);
      const input = size === undefined ? good.inputs[0] : { ...half, parameters: { binary_data_size: size } };
      const sent = binaryBody({ inputs: [input] }, Buffer.alloc(bytes));
      assert.match(errorOf(await ask(endpoint, path, sent), 400), message);
      await works(endpoint);
    });
  }

  test('strings whose lengths do not fit', async (t) => {
    const dims = [-1];
    const text = identity({
      maxBatchSize: 0,
      batching: false,
      inputs: [{ name: 'x', datatype: 'BYTES', dims }],
      outputs: [{ name: 'y', datatype: 'BYTES', dims }],
    });
    const endpoint = await endpointOf(t, await serve(t, { m: text }));
    for (const bytes of ['01', '05000000aa', 'ffffffffaa', '', '0000000000000000', '01000000aa00']) {
      const data = Buffer.from(bytes, 'hex');
      const head = {
        inputs: [{ name: 'x', datatype: 'BYTES', shape: [1], parameters: { binary_data_size: data.length } }],
      };
      errorOf(await ask(endpoint, path, binaryBody(head, data)), 400);
    }
  });

  test('bodies that are small only while they are compressed', async (t) => {
    const endpoint = await small(t);
    const bomb = gzipSync(Buffer.alloc(32 << 20));
    const headers = { 'Content-Encoding': 'gzip' };
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => ask(endpoint, path, { body: bomb, headers })),
    );
    for (const answer of answers) assert.match(errorOf(answer, 400), /65536 bytes/);
    await works(endpoint);
  });
});

void suite('what is no HTTP, or more than one kind of it', () => {
  const body = JSON.stringify(good);
  for (const [name, sent, status] of [
    ['garbage', '\0\x01\x02\r\n\r\n', 400],
    [
      'a length and chunks',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'two lengths',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n{}{}{}`,
      400,
    ],
    ['a list of lengths', `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 5, 5\r\n\r\n{}{}{}`, 400],
    ['a length that is none', `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n`, 400],
    ['a length with a plus', `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: +5\r\n\r\n{}{}{}`, 400],
    [
      'chunks hidden by a tab',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'another coding before chunks’',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'a chunk’s size that is none',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n`,
      400,
    ],
    [
      'a space in a header’s name',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length : 5\r\n\r\n{}{}{}`,
      400,
    ],
    [
      'a header on two lines',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['line feeds alone', `POST ${path} HTTP/1.1\nHost: x\nContent-Length: 0\n\n`, 400],
    ['a line feed alone before a header', `POST ${path} HTTP/1.1\r\nHost: x\nContent-Length: 0\r\n\r\n`, 400],
    ['a carriage return alone', `POST ${path} HTTP/1.1\r\nHost: x\rContent-Length: 5\r\n\r\n`, 400],
    [
      'two codings',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
      400,
    ],
    [
      'a chunk longer than it says',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n`,
      400,
    ],
    [
      'a chunk’s size beyond 2^64',
      `POST ${path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${'f'.repeat(17)}\r\n{}`,
      400,
    ],
    ['NUL in a header', `POST ${path} HTTP/1.1\r\nHost: x\r\nA: \0\r\n\r\n`, 400],
    ['a version that is none', `GET /v2 HTTP/9.9\r\nHost: x\r\n\r\n`, 400],
    ['no host', `POST ${path} HTTP/1.1\r\nContent-Length: 0\r\n\r\n`, 400],
    ['headers without an end', `GET /v2 HTTP/1.1\r\nHost: x\r\nA: ${'a'.repeat(40_000)}`, 431],
    ['thousands of headers', `GET /v2 HTTP/1.1\r\nHost: x\r\n${'a: b\r\n'.repeat(20_000)}\r\n`, 431],
  ] as const) {
    test(name, async (t) => {
      const endpoint = await small(t);
      // The following bytes must not be read as a request.
      const text = await exchange(t, endpoint, `${sent}GET /v2/hidden HTTP/1.1\r\nHost: x\r\n\r\n`);
      assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
      assert.doesNotMatch(text, /HTTP\/1\.1 (200|404)/);
      await works(endpoint);
    });
  }

  test('a body that is cut off', async (t) => {
    const endpoint = await small(t);
    const socket = open(t, endpoint);
    socket.end(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 40)}`,
    );
    await new Promise((resolve) => socket.resume().once('close', resolve));
    await works(endpoint);
  });

  test('a body byte by byte is read, and one that takes too long is answered with 408', async (t) => {
    const endpoint = await small(t);
    const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n`;
    const socket = open(t, endpoint);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    for (const byte of head + body) {
      socket.write(byte);
      await new Promise((resolve) => setImmediate(resolve));
    }
    while (!text.includes('outputs')) await wait(1);
    assert.match(text, /^HTTP\/1\.1 200 /);
    const hasty = await small(t, 1000);
    const slow = await exchange(t, hasty, `${head}{`);
    assert.match(slow, /^HTTP\/1\.1 408 /);
    await works(hasty);
  });
});

void suite('names', () => {
  for (const name of [
    ...[
      '..',
      '%2e%2e',
      '..%2f..%2fm',
      '%2fetc%2fpasswd',
      'm%00',
      'm%',
      '%ff',
      '__proto__',
      'constructor',
      'toString',
    ],
    'a'.repeat(2000),
  ]) {
    test(`a model named ${name.slice(0, 20)}`, async (t) => {
      const server = await serve(t, { m: identity() }, { modelControlMode: 'explicit', loadModels: ['m'] });
      const endpoint = await endpointOf(t, server, { maxRequestBytes: 65_536 });
      for (const [call, given] of [
        ['infer', { body: good }],
        ['generate', { body: { x: 1 } }],
        ['config', {}],
        ['stats', {}],
        ['ready', {}],
        ['versions/1', {}],
      ] as const) {
        const { status: got, text } = await ask(endpoint, `/v2/models/${name}/${call}`, given);
        assert.ok(got === 404 || got === 400, `${call}: ${got} ${text}`);
      }
      for (const call of ['load', 'unload']) {
        const { status: got, text } = await ask(endpoint, `/v2/repository/models/${name}/${call}`, {
          body: {},
        });
        assert.ok([400, 404].includes(got) || (call === 'unload' && got === 200), `${call}: ${got} ${text}`);
        assert.doesNotMatch(text, /root:/);
      }
      await works(endpoint);
    });
  }

  test('files of a load stay in the model', async (t) => {
    const server = await serve(t, { m: identity() }, { modelControlMode: 'explicit', loadModels: ['m'] });
    const endpoint = await endpointOf(t, server);
    for (const file of ['../m/config.pbtxt', '/etc/x', '1/../../x', '..', '', '__proto__', '1/\0']) {
      const parameters = { config: '{"backend":"identity"}', [`file:${file}`]: 'AAAA' };
      const { status, text } = await ask(endpoint, '/v2/repository/models/m/load', { body: { parameters } });
      assert.ok(status === 400, `${file}: ${status} ${text}`);
    }
    await works(endpoint);
  });

  test('keys of prototypes change no object', async (t) => {
    const endpoint = await small(t);
    for (const key of ['__proto__', 'constructor', 'prototype']) {
      const more = `"${key}":{"polluted":1,"prototype":{"polluted":1}}`;
      const input = JSON.stringify(good.inputs[0]).slice(1);
      const body = `{${more},"parameters":{"${key}":"a"},"inputs":[{${more},"parameters":{${more}},${input}]}`;
      await ask(endpoint, path, { body });
      await ask(endpoint, path, { body: body.replace('"a"', 'NaN') });
      assert.equal(({} as { polluted?: unknown }).polluted, undefined);
    }
    await works(endpoint);
  });
});

// With a backtracking check these would take days.
test('texts of a load that nearly are base64', async (t) => {
  const server = await serve(t, { m: identity() }, { modelControlMode: 'explicit', loadModels: ['m'] });
  const endpoint = await endpointOf(t, server);
  for (const text of [' ', '=', 'A', 'A ', 'A= ', '= ']) {
    const file = `${text.repeat((8 << 20) / text.length)}!`;
    const body = { parameters: { config: '{}', 'file:1/model.onnx': file } };
    const answer = await ask(endpoint, '/v2/repository/models/m/load', { body });
    assert.match(errorOf(answer, 400), /is not base64/);
  }
  await works(endpoint);
});

test('many connections, idle and busy', async (t) => {
  const server = await serve(t, { m: identity() });
  const endpoint = await endpointOf(t, server);
  const idle: Socket[] = [];
  // At most as many at once as a system's accept queue holds.
  while (idle.length < 2000) {
    const some = Array.from({ length: 100 }, () => open(t, endpoint));
    await Promise.all(some.map((socket) => new Promise((resolve) => socket.once('connect', resolve))));
    idle.push(...some);
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 500 });
  const { host, port } = endpoint.address;
  const text = JSON.stringify(good);
  const sockets = new Set<Socket>();
  const statuses = await Promise.all(
    Array.from(
      { length: 2000 },
      () =>
        new Promise((resolve, reject) => {
          const sent = request({ host, port, path, method: 'POST', agent }, (response) => {
            sockets.add(response.socket);
            response.resume().on('end', () => {
              resolve(response.statusCode);
            });
          });
          sent.on('error', reject).end(text);
        }),
    ),
  );
  assert.deepEqual([...new Set(statuses)], [200]);
  assert.equal(sockets.size, 500);
  agent.destroy();
  // No idle connection was closed in favour of them.
  for (const socket of idle) assert.ok(!socket.destroyed);
  const last = idle[1999];
  const answer = new Promise((resolve) => last?.once('data', resolve));
  last?.write('GET /v2 HTTP/1.1\r\nHost: x\r\n\r\n');
  assert.match(String(await answer), /^HTTP\/1\.1 200 /);
  for (const socket of idle) socket.destroy();
  await works(endpoint);
});

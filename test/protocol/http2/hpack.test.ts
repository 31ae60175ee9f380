/** HPACK: the examples of RFC 7541, blocks that are not valid, limits, and Node's own HTTP/2 as the peer. */

import assert from 'node:assert/strict';
import { connect, type IncomingHttpHeaders } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { ConnectionError } from '../../../src/protocol/http2/errors.js';
import {
  clientMagic,
  frameFlag,
  frameOf,
  FrameReader,
  frameType,
} from '../../../src/protocol/http2/frames.js';
import { Field, HpackDecoder, mostBlockBytes } from '../../../src/protocol/http2/hpack-decoder.js';
import { encodeHeaders } from '../../../src/protocol/http2/hpack-encoder.js';
import { decodeHuffman } from '../../../src/protocol/http2/huffman.js';
import { Dice } from '../../requests/dice.js';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');
const pairsOf = (fields: readonly Field[] | undefined): string[] | undefined =>
  fields?.map(({ name, value }) => `${name}: ${value}`);

/** Series of blocks for one decoder each: their names in the appendix, the bytes, and the fields. */
const series: Readonly<Record<string, readonly (readonly [block: string, fields: readonly string[]])[]>> = {
  'C.2.1': [
    ['400a 6375 7374 6f6d 2d6b 6579 0d63 7573 746f 6d2d 6865 6164 6572', ['custom-key: custom-header']],
  ],
  'C.2.2': [['040c 2f73 616d 706c 652f 7061 7468', [':path: /sample/path']]],
  'C.2.3': [['1008 7061 7373 776f 7264 0673 6563 7265 74', ['password: secret']]],
  'C.2.4': [['82', [':method: GET']]],
  'C.3, requests': [
    [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
    ],
    [
      '8286 84be 5808 6e6f 2d63 6163 6865',
      [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
    ],
    [
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
      [
        ':method: GET',
        ':scheme: https',
        ':path: /index.html',
        ':authority: www.example.com',
        'custom-key: custom-value',
      ],
    ],
  ],
  'C.4, requests in Huffman code': [
    [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com'],
    ],
    [
      '8286 84be 5886 a8eb 1064 9cbf',
      [':method: GET', ':scheme: http', ':path: /', ':authority: www.example.com', 'cache-control: no-cache'],
    ],
    [
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
      [
        ':method: GET',
        ':scheme: https',
        ':path: /index.html',
        ':authority: www.example.com',
        'custom-key: custom-value',
      ],
    ],
  ],
  // These have a table of 256 bytes, which the first bytes set.
  'C.5, responses': [
    [
      '3fe101 4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      [
        ':status: 302',
        'cache-control: private',
        'date: Mon, 21 Oct 2013 20:13:21 GMT',
        'location: https://www.example.com',
      ],
    ],
    [
      '4803 3330 37c1 c0bf',
      [
        ':status: 307',
        'cache-control: private',
        'date: Mon, 21 Oct 2013 20:13:21 GMT',
        'location: https://www.example.com',
      ],
    ],
    [
      '88c1 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3220 474d 54c0 5a04 677a 6970 7738 666f 6f3d 4153 444a 4b48 514b 425a 584f 5157 454f 5049 5541 5851 5745 4f49 553b 206d 6178 2d61 6765 3d33 3630 303b 2076 6572 7369 6f6e 3d31',
      [
        ':status: 200',
        'cache-control: private',
        'date: Mon, 21 Oct 2013 20:13:22 GMT',
        'location: https://www.example.com',
        'content-encoding: gzip',
        'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
      ],
    ],
  ],
  'C.6, responses in Huffman code': [
    [
      '3fe101 4882 6402 5885 aec3 771a 4b61 96d0 7abe 9410 54d4 44a8 2005 9504 0b81 66e0 82a6 2d1b ff6e 919d 29ad 1718 63c7 8f0b 97c8 e9ae 82ae 43d3',
      [
        ':status: 302',
        'cache-control: private',
        'date: Mon, 21 Oct 2013 20:13:21 GMT',
        'location: https://www.example.com',
      ],
    ],
    [
      '4883 640e ffc1 c0bf',
      [
        ':status: 307',
        'cache-control: private',
        'date: Mon, 21 Oct 2013 20:13:21 GMT',
        'location: https://www.example.com',
      ],
    ],
    [
      '88c1 6196 d07a be94 1054 d444 a820 0595 040b 8166 e084 a62d 1bff c05a 839b d9ab 77ad 94e7 821d d7f2 e6c7 b335 dfdf cd5b 3960 d5af 2708 7f36 72c1 ab27 0fb5 291f 9587 3160 65c0 03ed 4ee5 b106 3d50 07',
      [
        ':status: 200',
        'cache-control: private',
        'date: Mon, 21 Oct 2013 20:13:22 GMT',
        'location: https://www.example.com',
        'content-encoding: gzip',
        'set-cookie: foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1',
      ],
    ],
  ],
};

for (const [what, blocks] of Object.entries(series))
  test(`RFC 7541, ${what}`, () => {
    const decoder = new HpackDecoder(1 << 14);
    for (const [block, fields] of blocks) assert.deepEqual(pairsOf(decoder.decode(hex(block))), fields);
  });

/** Blocks for one decoder, the last of which is not valid. */
const wrong: Readonly<Record<string, readonly string[]>> = {
  'an index of 0': ['80'],
  'an index beyond the tables': ['be'],
  'an index of an entry that was dropped': ['3f09 4001 61 01 62', 'be', '20', 'be'],
  'the name of no entry': ['7e 01 61'],
  'a number without an end': ['ff'],
  'a number that is too large': ['ff ff ff ff ff 0f'],
  'a number of many bytes': ['ff 80 80 80 80 80 80 00'],
  'a text without its length': ['40'],
  'a text without its end': ['40 05 61 62'],
  'a name without a value': ['40 01 61'],
  'a table over the limit': ['3f e2 1f'],
  'a new size of the table behind a field': ['82 20'],
  'the end symbol of the Huffman code': ['40 84 ff ff ff ff 01 61'],
  'padding of a whole byte': ['40 82 1f ff 01 61'],
  'padding with zeros': ['40 81 18 01 61'],
};

for (const [what, blocks] of Object.entries(wrong))
  test(`refuses ${what}`, () => {
    const decoder = new HpackDecoder(1 << 14);
    for (const block of blocks.slice(0, -1)) decoder.decode(hex(block));
    assert.throws(
      () => decoder.decode(hex(blocks.at(-1) ?? '')),
      (error) => error instanceof ConnectionError && error.code === 9,
    );
  });

test('the table may be emptied and filled again, and keeps its size', () => {
  const decoder = new HpackDecoder(1 << 14);
  const entry = (value: string): Buffer =>
    Buffer.concat([hex('40 01 61'), Buffer.of(value.length), Buffer.from(value)]);
  // Each counts 33 bytes and its value.
  for (let i = 0; i < 1000; i++) decoder.decode(entry(String(i).padStart(4, '0')));
  const newest = pairsOf(decoder.decode(hex('be')));
  assert.deepEqual(newest, ['a: 0999']);
  const count = Math.floor(4096 / 37);
  const oldest = Buffer.concat([Buffer.of(0xff), Buffer.of(61 + count - 127)]);
  assert.deepEqual(pairsOf(decoder.decode(oldest)), [`a: ${String(1000 - count).padStart(4, '0')}`]);
  assert.throws(() => decoder.decode(Buffer.of(0xff, 61 + count + 1 - 127)));
  const other = new HpackDecoder(1 << 14);
  other.decode(entry('x'));
  // A field that is larger than the table empties it.
  other.decode(Buffer.concat([hex('40 01 61 7f 81 1f'), Buffer.alloc(127 + 0xf81, 98)]));
  assert.throws(() => other.decode(hex('be')));
  other.decode(entry('y'));
  assert.deepEqual(pairsOf(other.decode(hex('be'))), ['a: y']);
});

test('a list over the limit is not returned, and the table stays in step', () => {
  const decoder = new HpackDecoder(1000);
  const large = Buffer.concat([hex('40 01 61 7f f9 06'), Buffer.alloc(127 + 0x379, 98)]);
  assert.equal(decoder.decode(large), undefined);
  assert.equal(decoder.decode(Buffer.alloc(mostBlockBytes, 0xbe)), undefined);
  assert.equal(decoder.decode(hex('be')), undefined);
  assert.deepEqual(pairsOf(decoder.decode(hex('40 01 61 01 62'))), ['a: b']);
  assert.equal(pairsOf(decoder.decode(hex('be')))?.[0], 'a: b');
});

test('the version changes with the table', () => {
  const decoder = new HpackDecoder(1 << 14);
  decoder.decode(hex('82 86'));
  decoder.decode(hex('00 01 61 01 62'));
  assert.equal(decoder.version, 0);
  decoder.decode(hex('40 01 61 01 62'));
  assert.equal(decoder.version, 1);
  decoder.decode(hex('20'));
  assert.equal(decoder.version, 2);
});

test('fields that headers cannot have are marked', () => {
  const valid = (name: string, value: string): boolean => new Field(name, value).isValid;
  assert.ok(valid(':path', '/x'));
  assert.ok(valid('x-é'.slice(0, 2) + '_.~', 'é\t"'));
  for (const name of ['', 'A', 'a b', 'a:', '::a', 'é', 'a\0', '\n']) assert.ok(!valid(name, 'x'), name);
  for (const value of ['\0', 'a\rb', 'a\n']) assert.ok(!valid('a', value), value);
});

test('random bytes are decoded, or refused with an error of the connection', () => {
  const dice = new Dice(7);
  const scratch = Buffer.alloc(1024);
  for (let round = 0; round < 20_000; round++) {
    const bytes = Buffer.from(Array.from({ length: dice.below(40) }, () => dice.below(256)));
    const decoder = new HpackDecoder(1 << 14);
    for (const run of [() => decoder.decode(bytes), () => decodeHuffman(bytes, 0, bytes.length, scratch)])
      try {
        run();
      } catch (error) {
        assert.ok(error instanceof ConnectionError && error.code === 9, String(error));
      }
  }
});

test('headers go to and from Node', async (t) => {
  const dice = new Dice(11);
  const received: string[][] = [];
  const server = createServer((socket) => {
    const decoder = new HpackDecoder(1 << 16);
    let kind = 0;
    let flags = 0;
    let stream = 0;
    let parts: Buffer[] = [];
    const reader = new FrameReader({
      begin(_length, type, given, id) {
        kind = type;
        flags = given;
        stream = id;
        return true;
      },
      payload(bytes) {
        if (kind === frameType.settings && (flags & frameFlag.ack) === 0)
          socket.write(frameOf(frameType.settings, frameFlag.ack, 0, Buffer.alloc(0)));
        if (kind !== frameType.headers && kind !== frameType.continuation) return;
        const from = kind === frameType.headers && (flags & frameFlag.priority) !== 0 ? 5 : 0;
        parts.push(Buffer.from(bytes.subarray(from)));
        if ((flags & frameFlag.endHeaders) === 0) return;
        const fields = decoder.decode(Buffer.concat(parts)) ?? [];
        parts = [];
        received.push(pairsOf(fields) ?? []);
        const answer = encodeHeaders([
          [':status', '200'],
          ...fields
            .filter(({ name }) => name.startsWith('x-'))
            .map(({ name, value }): [string, string] => [name, value]),
        ]);
        const both = frameFlag.endHeaders | frameFlag.endStream;
        socket.write(frameOf(frameType.headers, both, stream, answer));
      },
      end() {
        // All was taken with the payload.
      },
    });
    let greeted = 0;
    socket.on('error', () => undefined);
    socket.write(frameOf(frameType.settings, 0, 0, Buffer.alloc(0)));
    socket.on('data', (chunk: Buffer) => {
      const taken = Math.min(chunk.length, clientMagic.length - greeted);
      greeted += taken;
      reader.push(chunk.subarray(taken));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  t.after(() => {
    client.destroy();
    server.close();
  });
  const text = (length: number): string =>
    String.fromCharCode(...Array.from({ length }, () => 33 + dice.below(94)));
  for (let round = 0; round < 300; round++) {
    const headers: Record<string, string> = {};
    for (let i = dice.below(8); i >= 0; i--)
      headers[`x-${dice.below(20)}`] = dice.below(2) === 0 ? 'same' : text(1 + dice.below(300));
    const stream = client.request({ ':path': `/${dice.below(5)}`, ...headers });
    stream.resume();
    const answer = await new Promise<IncomingHttpHeaders>((resolve, reject) => {
      stream.on('response', resolve);
      stream.on('error', reject);
    });
    for (const [name, value] of Object.entries(headers)) {
      assert.equal(answer[name], value);
      assert.ok(received.at(-1)?.includes(`${name}: ${value}`));
    }
    assert.ok(received.at(-1)?.includes(':method: GET'));
  }
});

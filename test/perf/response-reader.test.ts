import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ResponseReader, type Response } from '../../src/perf/targets/http/response-reader.js';

/** The responses in bytes that arrive in pieces of a size. */
function read(
  text: string,
  size: number,
  keep = true,
): { responses: Response[]; lasts: boolean[]; reader: ResponseReader } {
  const responses: Response[] = [];
  const lasts: boolean[] = [];
  const reader = new ResponseReader({
    response: (response, isLast) => {
      responses.push(response);
      lasts.push(isLast);
    },
  });
  reader.keep = keep;
  const bytes = Buffer.from(text, 'latin1');
  // The memory is used again for each read, as that of a socket.
  const memory = Buffer.alloc(size);
  for (let at = 0; at < bytes.length; at += size) {
    const count = bytes.copy(memory, 0, at, Math.min(bytes.length, at + size));
    reader.push(memory.subarray(0, count));
  }
  return { responses, lasts, reader };
}

const body = '{"a":1}\r\n\r\n.';
const counted = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const chunked =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;x=y\r\nabcd\r\nA\r\n0123456789\r\n0\r\nX: y\r\n\r\n';
const empty = 'HTTP/1.1 204 No Content\r\n\r\n';
const continued = 'HTTP/1.1 100 Continue\r\n\r\n';
const failed = 'HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 3\r\n\r\nwhy';
const all = `${counted}${counted}${continued}${chunked}${empty}${counted}${chunked}${failed}`;

test('responses are found wherever their bytes are cut', () => {
  for (let size = 1; size < 64; size++) {
    const { responses, lasts, reader } = read(all, size);
    assert.deepEqual(
      responses.map(({ status, body: bytes }) => [status, bytes.toString()]),
      [
        [200, body],
        [200, body],
        [200, 'abcd0123456789'],
        [204, ''],
        [200, body],
        [200, 'abcd0123456789'],
        [400, 'why'],
      ],
      `pieces of ${size}`,
    );
    assert.deepEqual(lasts, [false, false, false, false, false, false, true]);
    assert.equal(reader.within, false);
    assert.equal(responses[0]?.headers.get('content-type'), 'application/json');
  }
});

test('bodies are kept only of errors, unless they are wanted', () => {
  const { responses } = read(all, 10, false);
  assert.deepEqual(
    responses.map(({ body: bytes }) => bytes.toString()),
    ['', '', '', '', '', '', 'why'],
  );
});

test('a body without a length ends with the connection', () => {
  const { responses, reader } = read('HTTP/1.0 200 OK\r\n\r\nabc', 5);
  assert.deepEqual([responses.length, reader.within], [0, true]);
  assert.equal(reader.ended(), true);
  assert.equal(responses[0]?.body.toString(), 'abc');
  assert.equal(reader.ended(), false);
  const cut = read(counted.slice(0, -1), 50).reader;
  assert.deepEqual([cut.ended(), cut.within], [false, true]);
});

test('a body that is kept has a limit', () => {
  const { reader } = read('HTTP/1.1 500 Oops\r\n\r\n', 100);
  const piece = Buffer.alloc(1 << 16);
  assert.throws(() => {
    for (let i = 0; i < 17; i++) reader.push(piece);
  }, /status 500 has more than 1048576 bytes/);
});

test('what is not HTTP is refused', () => {
  for (const text of [
    'SSH-2.0-OpenSSH_9.2\r\n\r\n',
    'HTTP/2 200\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n',
    'HTTP/1.1 200 OK\r\nContent-Length: 1e3\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n',
    'x'.repeat(70_000),
  ]) {
    for (const size of [3, 100_000]) assert.throws(() => read(text, size), Error, text.slice(0, 60));
  }
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RequestBytes } from '../../src/perf/targets/http/request-bytes.js';

test('each header stands once in a request, in whichever case it is given', () => {
  const headers = { host: 'other', authorization: 'Bearer x', 'CONTENT-TYPE': 'a/b', key: 'secret' };
  const bytes = new RequestBytes(new URL('http://user:word@host:1/base/'), '/v2/x', headers);
  const text = bytes.of({ id: '', parameters: [], inputs: [], outputs: [] }).toString('latin1');
  const [first, ...lines] = (text.split('\r\n\r\n')[0] ?? '').split('\r\n');
  assert.equal(first, 'POST /base/v2/x HTTP/1.1');
  assert.deepEqual(lines.slice(0, 4), [
    'host: other',
    'authorization: Bearer x',
    'CONTENT-TYPE: a/b',
    'key: secret',
  ]);
  assert.deepEqual(
    lines.slice(4).map((line) => line.replace(/:.*/, '')),
    ['Inference-Header-Content-Length', 'Content-Length'],
  );
});

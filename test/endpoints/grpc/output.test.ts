/** What a connection sends, where that fails. */

import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { Output } from '../../../src/endpoints/grpc/http2/output.js';
import { Slab } from '../../../src/endpoints/grpc/http2/slab.js';
import { Stream, type StreamHost } from '../../../src/endpoints/grpc/http2/stream.js';

/** A slab without memory for the bytes that are taken. */
class FullSlab extends Slab {
  override take(): readonly Buffer[] {
    const parts = super.take();
    if (parts.length > 0) throw new RangeError('no memory');
    return parts;
  }
}

test('bytes that could not be written are given back', () => {
  let counted = 0;
  let failed = false;
  const socket = new Duplex({ read: () => undefined, write: () => undefined }) as unknown as Socket;
  const output = new Output(socket, new FullSlab(), {
    sent: () => undefined,
    left: (bytes) => (counted -= bytes),
    failed: () => (failed = true),
  });
  const host: StreamHost = {
    remoteAddress: undefined,
    ready: (stream) => {
      output.ready(stream);
    },
    reset: () => undefined,
    fault: () => undefined,
    nextBlock: (block) => block,
    credit: () => undefined,
    sent: () => undefined,
    wait: (bytes) => (counted += bytes),
    keep: () => undefined,
    sending: (bytes) => {
      output.sending(bytes);
    },
  };
  const stream = new Stream(1, {}, 1 << 20, host);
  stream.begin(Buffer.of(0x88));
  stream.write(Buffer.alloc(30_000));
  output.flush();
  assert.ok(failed);
  stream.close();
  assert.equal(counted, 0);
});

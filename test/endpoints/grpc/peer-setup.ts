/** Servers, requests and frames for the tests that use {@link Peer}. */

import assert from 'node:assert/strict';
import type { GrpcEndpoint, ServeGrpcOptions } from '../../../src/endpoints/grpc/serve.js';
import type { InferenceServer } from '../../../src/index.js';
import { encodeHeaders } from '../../../src/protocol/http2/hpack-encoder.js';
import { identity, onnx, row, serve, until, type Context } from '../../support/harness.js';
import { endpointOf, foreign } from './harness.js';
import type { Peer } from './peer.js';
import { frame, framed, headerBlock, preface } from './raw.js';

export const headers: Buffer = headerBlock();
const fields = {
  model_name: 'm',
  inputs: [{ name: 'x', datatype: 'FP32', shape: [1, 16] }],
  raw_input_contents: [Buffer.from(row().buffer)],
};
export const number = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
export const setting = (id: number, value: number): Buffer =>
  Buffer.concat([Buffer.of(0, id), number(value)]);
/** Settings with an initial window. */
export const windowOf = (bytes: number): Buffer => frame(4, 0, 0, setting(4, bytes));
export const infer = '/inference.GRPCInferenceService/ModelInfer';
export const usual: readonly (readonly [string, string])[] = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', infer],
  ['content-type', 'application/grpc'],
];

/** An endpoint, and messages for its models, with their prefixes. */
export interface PeerSetup {
  readonly endpoint: GrpcEndpoint;
  readonly server: InferenceServer;
  readonly request: Buffer;
  /** A request whose answer has this many floats. */
  readonly large: (count: number) => Buffer;
  readonly slow: Buffer;
}

/** A server with a small model, one that answers as much as it gets, and a slow one. */
export async function setup(t: Context, options: ServeGrpcOptions = {}): Promise<PeerSetup> {
  const dims = [-1];
  const any = { maxBatchSize: 0, batching: false as const };
  const same = identity({ ...any, inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] });
  const slow = identity({ delayMs: 60_000, batching: false });
  const server = await serve(t, { m: onnx(), same, slow });
  const endpoint = await endpointOf(t, server, options);
  const client = await foreign(t, endpoint);
  const write = (given: object): Buffer =>
    framed(client.messages.write('inference.ModelInferRequest', { ...fields, ...given }));
  const large = (count: number): Buffer =>
    write({
      model_name: 'same',
      inputs: [{ name: 'x', datatype: 'FP32', shape: [count] }],
      raw_input_contents: [Buffer.alloc(4 * count)],
    });
  return { endpoint, server, request: write({}), large, slow: write({ model_name: 'slow' }) };
}

/** Waits for the answer to a call, which must be good. */
export async function answered(peer: Peer, id: number): Promise<void> {
  await until(() => peer.hasEnded(id));
  assert.deepEqual(
    peer.lists(id).map((one) => one['grpc-status']),
    [undefined, '0'],
  );
}

/** The headers of a ModelStreamInfer call. */
export function streamHeaders(...more: readonly (readonly [string, string])[]): Buffer {
  const path = infer.replace('ModelInfer', 'ModelStreamInfer');
  return encodeHeaders([
    ...usual.map(([name, value]): [string, string] => [name, name === ':path' ? path : value]),
    ...more,
  ]);
}

/** What a client sends first whose windows never close. */
export const openWindows: Buffer = Buffer.concat([
  preface,
  windowOf(2 ** 30),
  frame(8, 0, 0, number(2 ** 30)),
]);

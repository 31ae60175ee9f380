/**
 * Streams of answers with binary outputs, for the web page. KServe has no such form, and the page is served with the code that
 * writes it. The request is that of `infer`. Each answer is that of `infer` behind the size of its JSON, in four little-endian
 * bytes. An error is JSON of the same kind, with the member `error`.
 */

import type { InferResult } from '../../api/results.js';
import { asTritonError } from '../../protocol/statuses.js';
import { writeEvent } from './event-stream.js';
import type { Exchange } from './exchange.js';
import type { BinaryOutputs } from './infer-request.js';
import { writeInferAnswer, type InferAnswer } from './infer-response.js';
import { writeAnswer } from './long-answer.js';

const headers: readonly string[] = ['Content-Type', 'application/octet-stream', 'Cache-Control', 'no-cache'];

function frameOf({ json, blobs }: InferAnswer): readonly Buffer[] {
  const head = Buffer.from(json);
  const size = Buffer.alloc(4);
  size.writeUInt32LE(head.length);
  return [size, head, ...blobs];
}

/** The answer, in slices if it is long; undefined if the client leaves meanwhile. */
function answerOf(
  exchange: Exchange,
  result: InferResult,
  binary: BinaryOutputs,
): Promise<InferAnswer | undefined> {
  return new Promise((resolve, reject) => {
    const failed = (error: unknown): void => {
      reject(asTritonError(error));
    };
    const inJson = (name: string): boolean => !(binary.listed.get(name) ?? binary.others);
    const answer = writeInferAnswer(result, binary, undefined);
    writeAnswer(exchange, result.outputs, inJson, answer, resolve, failed);
  });
}

/**
 * Sends each response. While the socket is full, no response is read, and the model waits. An error before the first response
 * decides the status.
 */
export async function sendBinaryStream(
  exchange: Exchange,
  responses: AsyncIterableIterator<InferResult>,
  binary: BinaryOutputs,
): Promise<void> {
  const { response, client } = exchange;
  let begun = false;
  /** Begins the answer. Returns whether more may follow: the answer is ours, and the client is connected. */
  const begin = (): boolean => {
    begun ||= exchange.head(200, [...headers]);
    return begun && !client.gone && !response.writableEnded;
  };
  try {
    for await (const result of responses) {
      exchange.trace?.completed();
      const answer = await answerOf(exchange, result, binary);
      if (answer === undefined || !begin()) break; // This ends the request.
      await writeEvent(exchange, ...frameOf(answer));
    }
    begin();
  } catch (error) {
    exchange.trace?.completed(error);
    if (!response.headersSent) {
      exchange.sendError(error);
      return;
    }
    const json = JSON.stringify({ error: asTritonError(error).message });
    if (begin()) await writeEvent(exchange, ...frameOf({ json, blobs: [] }));
  }
  response.end();
  exchange.finish();
}

/** Sends a model's text: in one answer, or as events. */

import { TritonError } from '../../errors.js';
import { asTritonError } from '../../protocol/statuses.js';
import { eventHeaders, writeEvent } from '../http/event-stream.js';
import type { Exchange } from '../http/exchange.js';
import { errorObject, openAIErrors } from './error-form.js';
import type { Generation } from './generation.js';
import type { TextForm } from './text-form.js';

/** The most characters of a text that is sent in one answer. */
const mostCharacters = 64 << 20;

/**
 * Answers with the whole text.
 *
 * @param most - How many responses the model may send, because it was told that the text is to come in one piece.
 */
export async function sendWhole(
  exchange: Exchange,
  generation: Generation,
  form: TextForm,
  most: number,
): Promise<void> {
  const pieces: string[] = [];
  let characters = 0;
  for await (const piece of generation.pieces()) {
    pieces.push(piece);
    characters += piece.length;
    if (characters > mostCharacters)
      throw new TritonError('INTERNAL', `the model's text has more than ${mostCharacters} characters`);
    if (exchange.gone) return; // This ends the request.
    if (generation.responses > most) break;
  }
  if (generation.responses > most) {
    throw new TritonError(
      'INTERNAL',
      `Unexpected number of responses: ${generation.responses}, expected 1, because its input 'stream' is false`,
    );
  }
  exchange.sendJson(200, form.whole(pieces.join(''), generation.finishReason, generation.usage));
}

/** The events of an answer. */
class Events {
  readonly #exchange: Exchange;
  #begun = false;

  constructor(exchange: Exchange) {
    this.#exchange = exchange;
  }

  /** Whether the answer has begun, so that its status is sent. */
  get begun(): boolean {
    return this.#begun;
  }

  /** Sends an event, if there is one. Returns whether another one may follow: the client is connected. */
  async send(text: string | undefined): Promise<boolean> {
    const { response, client } = this.#exchange;
    this.#begun ||= this.#exchange.head(200, [...eventHeaders]);
    if (!this.#begun || client.gone || response.writableEnded) return false;
    if (text !== undefined) await writeEvent(this.#exchange, `data: ${text}\n\n`);
    return !client.gone;
  }
}

/**
 * Sends each piece as an event. While the socket is full, no response is read, and the model waits. The answer begins
 * with the first piece, so that an error before it has its own status.
 */
export async function sendPieces(
  exchange: Exchange,
  generation: Generation,
  form: TextForm,
  includeUsage: boolean,
): Promise<void> {
  const events = new Events(exchange);
  try {
    for await (const piece of generation.pieces()) {
      if (!events.begun && !(await events.send(form.first()))) return; // This ends the request.
      if (!(await events.send(form.piece(piece)))) return; // So does this.
    }
    if (!events.begun) await events.send(form.first());
    await events.send(form.last(generation.finishReason));
    // A model that does not tell its tokens has a usage of null.
    if (includeUsage) await events.send(form.usage(generation.usage));
    await events.send('[DONE]');
  } catch (error) {
    if (!events.begun) throw error;
    const coded = asTritonError(error);
    await events.send(
      JSON.stringify({ error: errorObject(coded.message, openAIErrors.status(coded), coded) }),
    );
  } finally {
    if (events.begun) exchange.response.end();
  }
}

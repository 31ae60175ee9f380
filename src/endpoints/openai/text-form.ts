/** The form of answers with text: of chats, and of completions. */

import { randomUUID } from 'node:crypto';
import type { FinishReason } from './generation.js';
import type { Usage } from './usage.js';

/** See the head of this file. All functions return JSON. */
export interface TextForm {
  /** The whole text in one answer. */
  whole(text: string, reason: FinishReason, usage: Usage | null): string;
  /** The chunk before the first piece; undefined: there is none. */
  first(): string | undefined;
  /** A chunk with a piece of the text. */
  piece(text: string): string;
  /** The chunk that says why the text has ended. */
  last(reason: FinishReason): string;
  /** The chunk with the usage. It has no choices. */
  usage(usage: Usage | null): string;
}

/** What all chunks of an answer have in common. */
interface Head {
  readonly id: string;
  readonly created: number;
  readonly model: string;
}

function headOf(model: string): Head {
  return { id: `cmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model };
}

/** The fields of an object, in Triton's order. */
function textOf(
  { id, created, model }: Head,
  object: string,
  choices: readonly object[],
  usage: Usage | null,
): string {
  return JSON.stringify({ id, choices, created, model, system_fingerprint: null, object, usage });
}

/** The form of a chat's answer. */
export function chatForm(model: string): TextForm {
  const head = headOf(model);
  const chunk = (delta: object, reason: FinishReason | null): string =>
    textOf(head, 'chat.completion.chunk', [{ index: 0, delta, logprobs: null, finish_reason: reason }], null);
  return {
    whole: (content, reason, usage) => {
      const message = { role: 'assistant', content, tool_calls: null };
      const choice = { index: 0, message, logprobs: null, finish_reason: reason };
      return textOf(head, 'chat.completion', [choice], usage);
    },
    first: () => chunk({ role: 'assistant', content: '' }, null),
    piece: (content) => chunk({ content }, null),
    last: (reason) => chunk({}, reason),
    usage: (usage) => textOf(head, 'chat.completion.chunk', [], usage),
  };
}

/**
 * The form of a completion.
 *
 * @param echo - The text in front of it: the prompt, if the client wants it back.
 */
export function completionForm(model: string, echo: string): TextForm {
  const head = headOf(model);
  const completion = (text: string, reason: FinishReason | null, usage: Usage | null): string =>
    textOf(head, 'text_completion', [{ index: 0, text, logprobs: null, finish_reason: reason }], usage);
  return {
    whole: (text, reason, usage) => completion(echo + text, reason, usage),
    first: () => (echo === '' ? undefined : completion(echo, null, null)),
    piece: (text) => completion(text, null, null),
    last: (reason) => completion('', reason, null),
    usage: (usage) => textOf(head, 'text_completion', [], usage),
  };
}

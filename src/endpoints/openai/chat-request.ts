/** Reads the body of a chat. */

import { invalidArgument } from '../../errors.js';
import { wrongType, type JsonObject } from '../http/json.js';
import {
  choice,
  flag,
  integer,
  list,
  object,
  readBody,
  readFields,
  text,
  type FieldReader,
  type FieldReaders,
} from './fields.js';
import { messages, type ChatMessage } from './messages.js';
import {
  checkSampling,
  modelOf,
  samplingReaders,
  tokens,
  unsupported,
  type SamplingFields,
} from './sampling.js';
import { TemplateValues } from './template-values.js';

/** A tool that the model may call, as templates take it. */
interface Tool {
  readonly type: string;
  readonly function: JsonObject;
}

/** Whether tools are called, or the name of the one that is. */
type ToolChoice = 'none' | 'auto' | 'required' | { readonly name: string };

interface ChatFields extends SamplingFields {
  readonly messages?: readonly ChatMessage[] | undefined;
  readonly function_call?: unknown;
  readonly functions?: readonly unknown[] | undefined;
  readonly logprobs?: boolean | undefined;
  readonly max_completion_tokens?: number | undefined;
  readonly metadata?: JsonObject | undefined;
  readonly parallel_tool_calls?: boolean | undefined;
  readonly response_format?: { readonly type: string } | undefined;
  readonly service_tier?: string | undefined;
  readonly store?: boolean | undefined;
  readonly tool_choice?: ToolChoice | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly top_logprobs?: number | undefined;
}

const mostTools = 128;

const tool: FieldReader<Tool> = (path, value) => {
  const given = object(path, value);
  const called = object(`${path}.function`, given['function']);
  text(`${path}.function.name`, called['name']);
  return { type: text(`${path}.type`, given['type']), function: called };
};

const toolChoice: FieldReader<ToolChoice> = (path, value) => {
  if (typeof value === 'string') return choice('none', 'auto', 'required')(path, value);
  const named = object(`${path}.function`, object(path, value)['function']);
  return { name: text(`${path}.function.name`, named['name']) };
};

const responseFormat: FieldReader<{ readonly type: string }> = (path, value) => ({
  type: text(`${path}.type`, object(path, value)['type'] ?? 'text'),
});

const readers: FieldReaders<Omit<ChatFields, 'messages'>> = {
  ...samplingReaders,
  function_call: (_path, value) => value,
  functions: list<unknown>(0, mostTools, (_path, value) => value),
  logprobs: flag,
  max_completion_tokens: tokens,
  metadata: object,
  parallel_tool_calls: flag,
  response_format: responseFormat,
  service_tier: text,
  store: flag,
  tool_choice: toolChoice,
  tools: list(0, mostTools, tool),
  top_logprobs: integer(0, 20),
};

/** A chat to go on with. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly Tool[];
  readonly fields: ChatFields;
}

/**
 * @throws {@link TritonError} INVALID_ARG for a body that is not JSON or too large for a template, and for unknown, missing
 *   and wrong fields.
 */
export function readChat(body: Buffer): ChatRequest {
  const values = new TemplateValues();
  const fields = readFields<ChatFields>(readBody(body), { ...readers, messages: messages(values) });
  if (fields.messages === undefined) throw wrongType('messages', 'an array', undefined);
  values.check([fields.messages, fields.tools]);
  return { model: modelOf(fields), messages: fields.messages, tools: fields.tools ?? [], fields };
}

/**
 * Checks that all fields of a chat have a meaning here.
 *
 * @throws {@link TritonError} As {@link checkSampling}; UNSUPPORTED for features, INVALID_ARG for a choice without tools.
 */
export function checkChat({ tools, fields }: ChatRequest): void {
  const { logprobs, top_logprobs: top, tool_choice: chosen, functions, response_format: format } = fields;
  if (logprobs === true || (top !== undefined && top > 0)) throw unsupported('logprobs are not supported');
  checkSampling(fields);
  if (chosen === 'required' && tools.length === 0)
    throw invalidArgument('"required" tool choice requires tools to be provided');
  if (typeof chosen === 'object' && tools.length === 0)
    throw invalidArgument('Named tool choice requires tools to be provided');
  if (chosen === 'auto' || (tools.length > 0 && chosen !== 'none'))
    throw unsupported("calls of tools are not supported: leave tools away, or set tool_choice to 'none'");
  if (functions !== undefined || fields.function_call !== undefined)
    throw unsupported('functions are not supported');
  if (format !== undefined && format.type !== 'text')
    throw unsupported(`only the response_format 'text' is supported, but got ${format.type.slice(0, 64)}`);
}

/** Reads the messages of a chat as templates take them. */

import { member, readObject, wrongType, type JsonObject } from '../http/json.js';
import { choice, list, object, text, type FieldReader } from './fields.js';
import { unsupported } from './sampling.js';
import type { TemplateValues } from './template-values.js';

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const;

/** A call of a tool that the model has made. Templates take its arguments as a value. */
interface ToolCall {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; readonly arguments: unknown };
}

/** A message of a chat. */
export interface ChatMessage {
  readonly role: (typeof roles)[number];
  /** Null for an assistant that only called tools. */
  readonly content: string | null;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly ToolCall[];
}

/** The limits of a chat. */
const mostMessages = 4096;
const mostParts = 1024;
const mostCalls = 128;

function toolCall(values: TemplateValues): FieldReader<ToolCall> {
  return (path, value) => {
    const call = readObject(path, value);
    const called = object(`${path}.function`, call['function']);
    const given = text(`${path}.function.arguments`, called['arguments']);
    return {
      id: text(`${path}.id`, call['id']),
      type: text(`${path}.type`, call['type']),
      function: {
        name: text(`${path}.function.name`, called['name']),
        arguments: values.arguments(`${path}.function.arguments`, given),
      },
    };
  };
}

/** A part of a content, which must be text. */
const part: FieldReader<string> = (path, value) => {
  const given = readObject(path, value);
  const type = text(`${path}.type`, given['type']);
  if (type !== 'text') throw unsupported(`only text message is supported, but got ${type.slice(0, 64)}`);
  return text(`${path}.text`, given['text']);
};

/** A content as one text: most templates take nothing else. */
function contentOf(path: string, message: JsonObject, mayLack: boolean): string | null {
  const given = member(message, 'content');
  if (given === undefined && mayLack) return null;
  if (typeof given === 'string') return given;
  if (Array.isArray(given)) return list(1, mostParts, part)(path, given).join('');
  throw wrongType(path, 'a string or an array of parts', given);
}

function message(values: TemplateValues): FieldReader<ChatMessage> {
  return (path, value) => {
    const given = readObject(path, value);
    const role = choice(...roles)(`${path}.role`, given['role']);
    const name = member(given, 'name');
    const callId = member(given, 'tool_call_id');
    const calls = member(given, 'tool_calls');
    return {
      role,
      content: contentOf(`${path}.content`, given, role === 'assistant'),
      ...(name !== undefined && { name: text(`${path}.name`, name) }),
      ...(callId !== undefined && { tool_call_id: text(`${path}.tool_call_id`, callId) }),
      ...(calls !== undefined && {
        tool_calls: list(0, mostCalls, toolCall(values))(`${path}.tool_calls`, calls),
      }),
    };
  };
}

/** Reads the messages of a chat. */
export function messages(values: TemplateValues): FieldReader<readonly ChatMessage[]> {
  return list(1, mostMessages, message(values));
}

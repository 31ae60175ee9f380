/** The chat template in a model's folder, which turns the messages of a chat into a prompt. */

import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import type { ModelConfig } from '../../config/index.js';
import type { LocalFiles } from '../sources/model-source.js';
import { readAtMost, TooLargeError, whyUnread } from './read-file.js';

/** A template in Jinja, with what Hugging Face's tokenizers give to it. */
export interface ChatTemplate {
  /** Undefined: there are only tokens. */
  readonly text?: string | undefined;
  /** The template for chats with tools, if there is one of its own. */
  readonly toolText?: string | undefined;
  /** Special tokens by name, such as `bos_token`. */
  readonly tokens: Readonly<Record<string, string>>;
}

/** Why a model's template cannot be used. */
export interface ChatTemplateFault {
  readonly fault: string;
}

/** The templates of a file. */
interface TemplateTexts {
  readonly text: string;
  readonly toolText?: string | undefined;
}

/** The input that a model takes its prompt by. Other models have no use for a template. */
const promptInput = 'text_input';
const templateFile = 'chat_template.jinja';
const tokenizerFile = 'tokenizer_config.json';
/** Templates of known models have up to 20 KB. */
const mostTemplateBytes = 1 << 20;
/** The file also lists the tokens that were added to a vocabulary. */
const mostTokenizerBytes = 16 << 20;

/** Whether a model may have a chat template. */
export function takesPrompts(config: ModelConfig): boolean {
  return config.input.some(({ name, data_type: type }) => name === promptInput && type === 'TYPE_STRING');
}

/**
 * Reads a model's chat template: chat_template.jinja, or `chat_template` of tokenizer_config.json, in the folder of the
 * version, or else in the model's. As with Hugging Face, chat_template.jinja goes first.
 *
 * A file that cannot be used does not fail the load: the model may be used without chats.
 *
 * @returns Undefined if the model has neither a template nor special tokens.
 */
export async function readChatTemplate(
  config: ModelConfig,
  local: LocalFiles,
  version: number,
): Promise<ChatTemplate | ChatTemplateFault | undefined> {
  if (!takesPrompts(config) || local.file !== undefined) return undefined;
  const tokens: Record<string, string> = {};
  let found: TemplateTexts | undefined;
  for (const folder of [`${version}/`, '']) {
    for (const name of [templateFile, tokenizerFile]) {
      try {
        const isTemplate = name === templateFile;
        const text = await textOf(local, folder + name, isTemplate ? mostTemplateBytes : mostTokenizerBytes);
        if (text === undefined) continue;
        const read = isTemplate ? { text } : templateOf(text, tokens);
        found ??= read;
      } catch (error) {
        return { fault: `${join(local.directory, folder, name)} cannot be used: ${whyUnread(error)}` };
      }
    }
  }
  return found === undefined && Object.keys(tokens).length === 0 ? undefined : { ...found, tokens };
}

/** A file's text; undefined if there is no such file. */
async function textOf(
  { directory, files }: LocalFiles,
  path: string,
  mostBytes: number,
): Promise<string | undefined> {
  const given = files?.get(path);
  if (files !== undefined && given === undefined) return undefined;
  if (given !== undefined && given.size() > mostBytes) throw new TooLargeError(given.size(), mostBytes);
  let bytes: Uint8Array;
  try {
    bytes = given === undefined ? await readAtMost(join(directory, path), mostBytes) : given.copy();
  } catch (error) {
    const missing =
      error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code));
    if (missing) return undefined;
    throw error;
  }
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
  return new TextDecoder().decode(bytes);
}

/** The template in a tokenizer's configuration, if it has one. Adds its special tokens. */
function templateOf(text: string, tokens: Record<string, string>): TemplateTexts | undefined {
  const config: unknown = JSON.parse(text);
  if (!isObject(config)) throw new Error('it is not an object');
  for (const [name, value] of Object.entries(config)) {
    if (!name.endsWith('_token')) continue;
    // A token is a text, or an object with its content.
    const content = isObject(value) ? value['content'] : value;
    if (typeof content === 'string' && !Object.hasOwn(tokens, name)) tokens[name] = content;
  }
  const { chat_template: template } = config;
  if (template === undefined || template === null) return undefined;
  if (typeof template === 'string') return within({ text: template });
  if (!Array.isArray(template)) throw new Error('chat_template is neither a string nor an array');
  const named = new Map<unknown, unknown>(
    template.map((one: unknown) => (isObject(one) ? [one['name'], one['template']] : [undefined, undefined])),
  );
  const own = named.get('default');
  const forTools = named.get('tool_use');
  if (typeof own !== 'string') throw new Error("chat_template has no template named 'default'");
  return within({ text: own, toolText: typeof forTools === 'string' ? forTools : undefined });
}

function within(found: TemplateTexts): TemplateTexts {
  const size = Math.max(found.text.length, found.toolText?.length ?? 0);
  if (size <= mostTemplateBytes) return found;
  throw new Error(`its template has ${size} characters; at most ${mostTemplateBytes} are read`);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

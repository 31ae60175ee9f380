/** The settings of the front end for OpenAI's clients. */

import { readFile } from 'node:fs/promises';
import { invalidArgument } from '../../errors.js';
import { checkOpenAIOptions } from '../../endpoints/openai/options.js';
import { openAIGroups } from '../../endpoints/openai/routes.js';
import type { ServeOpenAIOptions } from '../../endpoints/openai/serve.js';
import { thrownText } from '../../thrown-text.js';
import type { FlagValues } from './parse-flags.js';
import { readRestricted } from './restricted.js';

/** Options, and the file of a template that is not read yet. */
export interface OpenAISettings {
  readonly options: ServeOpenAIOptions;
  readonly chatTemplate: string | undefined;
}

/** Flags that nothing reads if the front end is not served. */
const onlyServed = [
  'openai-address',
  'openai-restricted-api',
  'openai-max-connections',
  'default-max-tokens',
  'chat-template',
];

/**
 * Reads the flags; undefined if the front end is not served.
 *
 * @throws {@link TritonError} INVALID_ARG for invalid values, and for flags that have no effect.
 */
export function openAISettings(values: FlagValues): OpenAISettings | undefined {
  const restricted = readRestricted('openai-restricted-api', values, openAIGroups);
  const isServed = values.has('allow-openai') ? values.boolean('allow-openai') : values.has('openai-port');
  if (!isServed) {
    const unread = onlyServed.find((flag) => values.has(flag));
    if (unread !== undefined && !values.has('allow-openai'))
      throw invalidArgument(`--${unread} has no effect without --openai-port or --allow-openai=true`);
    return undefined;
  }
  const options = {
    host: values.text('openai-address'),
    port: values.integer('openai-port'),
    maxConnections: values.givenInteger('openai-max-connections'),
    maxRequestBytes: values.integer('http-max-input-size'),
    defaultMaxTokens: values.integer('default-max-tokens'),
    restricted,
  };
  // Check now, so that errors are reported before models are loaded.
  checkOpenAIOptions(options);
  return { options, chatTemplate: values.text('chat-template') };
}

/**
 * The options with the template's text.
 *
 * @throws {@link TritonError} INVALID_ARG for a file that cannot be read.
 */
export async function openAIOptions({ options, chatTemplate }: OpenAISettings): Promise<ServeOpenAIOptions> {
  if (chatTemplate === undefined) return options;
  try {
    return { ...options, chatTemplate: await readFile(chatTemplate, 'utf8') };
  } catch (cause) {
    throw invalidArgument(`--chat-template: cannot read '${chatTemplate}': ${thrownText(cause)}`, { cause });
  }
}

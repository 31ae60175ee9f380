/** The options of the front end for OpenAI's clients. */

import { expected, readOptions } from '../../argument-checks.js';
import { checkRequestBytes, listenKeys, readListening, type ServeHttpOptions } from '../http/options.js';
import type { HttpListenOptions } from '../http/http-server.js';
import { readRestrictions, type Restriction } from '../service/access.js';
import { openAIGroups, type OpenAIGroup } from './routes.js';

/**
 * Calls that only clients with a secret may make.
 *
 * @example
 * // OpenAI's clients send their `apiKey` so.
 * const keyed: RestrictedOpenAICalls = { protocols: ['inference'], header: 'authorization', value: `Bearer ${process.env.KEY!}` };
 */
export interface RestrictedOpenAICalls {
  /** The groups of calls. A group may appear in one entry only. */
  readonly protocols: readonly OpenAIGroup[];
  /** Name of the header with the secret. */
  readonly header: string;
  /** The secret. It is compared in constant time. */
  readonly value: string;
}

/** Options of {@link serveOpenAI}. */
export interface ServeOpenAIOptions extends Pick<
  ServeHttpOptions,
  'maxRequestBytes' | 'reusePort' | 'maxConnections' | 'tls' | 'requestTimeoutMs' | 'signal'
> {
  /** The port to listen on (default 9000); 0: any free port. Triton: `--openai-port`. */
  readonly port?: number | undefined;
  /** The address to listen on (default 127.0.0.1, which other machines cannot reach). Triton: `--host`. */
  readonly host?: string | undefined;
  /** Calls that need a secret (default: none). Triton: `--openai-restricted-api`. */
  readonly restricted?: readonly RestrictedOpenAICalls[] | undefined;
  /** The limit of tokens where a client gives none (default 16). Triton: `--default-max-tokens`. */
  readonly defaultMaxTokens?: number | undefined;
  /**
   * A chat template in Jinja for all models (default: each model's own, from its folder). Triton: `--chat-template`,
   * which names a file.
   */
  readonly chatTemplate?: string | undefined;
}

/** Checked options. */
export interface CheckedOpenAIOptions extends HttpListenOptions {
  readonly maxRequestBytes: number;
  readonly restricted: readonly Restriction<OpenAIGroup>[];
  readonly defaultMaxTokens: number;
  readonly chatTemplate: string | undefined;
}

const keys = [
  ...listenKeys,
  'maxRequestBytes',
  'restricted',
  'defaultMaxTokens',
  'chatTemplate',
] as const satisfies readonly (keyof ServeOpenAIOptions)[];

/**
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNSUPPORTED for options that this Node does not
 *   support.
 */
export function checkOpenAIOptions(options: unknown): CheckedOpenAIOptions {
  const given = readOptions<ServeOpenAIOptions>(options, keys, 'OpenAI options');
  const { maxRequestBytes, restricted, defaultMaxTokens = 16, chatTemplate } = given;
  if (
    typeof defaultMaxTokens !== 'number' ||
    !Number.isInteger(defaultMaxTokens) ||
    defaultMaxTokens < 1 ||
    defaultMaxTokens >= 2 ** 31
  )
    throw expected('an integer from 1 to 2147483647', 'options.defaultMaxTokens', defaultMaxTokens);
  if (chatTemplate !== undefined && typeof chatTemplate !== 'string')
    throw expected('a template as a string', 'options.chatTemplate', chatTemplate);
  return {
    ...readListening(given, 9000),
    maxRequestBytes: checkRequestBytes(maxRequestBytes),
    restricted: readRestrictions(restricted, openAIGroups),
    defaultMaxTokens,
    chatTemplate,
  };
}

/** A front end for OpenAI's clients over HTTP: `tritonts/openai`. */

import { expected } from '../../argument-checks.js';
import type { InferenceServer } from '../../index.js';
import { InferenceServer as ServerClass } from '../../server/inference-server.js';
import { openHttp } from '../http/http-server.js';
import { openAIErrors } from './error-form.js';
import { OpenAIHandler } from './handler.js';
import { checkOpenAIOptions, type ServeOpenAIOptions } from './options.js';

export type { RestrictedOpenAICalls, ServeOpenAIOptions } from './options.js';
export type { OpenAIGroup } from './routes.js';

/** Options of {@link OpenAIEndpoint.close}. */
export interface OpenAICloseOptions {
  /** How long requests under way may take, in milliseconds (default 30,000); 0 ends them now. */
  readonly timeoutMs?: number | undefined;
}

/**
 * An endpoint for OpenAI's clients.
 *
 * @example
 * const endpoint: OpenAIEndpoint = await serveOpenAI(server, { port: 0 });
 * const client = new OpenAI({ baseURL: `http://127.0.0.1:${endpoint.address.port}/v1`, apiKey: 'none' });
 */
export interface OpenAIEndpoint extends AsyncDisposable {
  /** The address and port that the endpoint listens on. */
  readonly address: { readonly host: string; readonly port: number };
  /**
   * Stops listening. Requests under way, also streams, may end within a time limit; then they are cancelled. The server
   * itself goes on. Idempotent: the limit of the first call counts.
   *
   * @throws {@link TritonError} INVALID_ARG for wrong options.
   */
  close(options?: OpenAICloseOptions): Promise<void>;
}

/**
 * Serves models that generate text, and models that make embeddings, by OpenAI's protocol, as Triton's front end does:
 * `/v1/chat/completions`, `/v1/completions`, `/v1/embeddings`, `/v1/models`. OpenAI's clients work unchanged. A client that
 * disconnects cancels its requests; one that reads slowly holds its model back.
 *
 * @param server - The server to serve. It goes on when the endpoint is closed; close the endpoint first.
 * @returns The endpoint, already listening.
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNAVAILABLE if the server is closed or the port cannot be
 *   listened on, CANCELLED if the signal has already fired.
 *
 * @example
 * import { serveOpenAI } from 'tritonts/openai';
 * const endpoint = await serveOpenAI(server, { port: 9000 });
 */
export async function serveOpenAI(
  server: InferenceServer,
  options: ServeOpenAIOptions = {},
): Promise<OpenAIEndpoint> {
  const given: unknown = server;
  if (!(given instanceof ServerClass)) throw expected('an InferenceServer', 'serveOpenAI', given);
  const checked = checkOpenAIOptions(options);
  // A closed server has none.
  server.metadata();
  let closing = false;
  const handler = new OpenAIHandler(server, checked, () => closing);
  const endpoint = await openHttp({
    caller: 'serveOpenAI',
    what: 'the OpenAI front end',
    options: checked,
    errors: openAIErrors,
    handler,
    prepare: (http) => {
      http.once('close', () => {
        handler.close();
      });
    },
    onClosing() {
      closing = true;
    },
  });
  return endpoint;
}

/** Serves the web page, what it shows, and the requests of its form. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { topAnswerOf } from '../../metrics/serve-top.js';
import { Turns } from '../../metrics/turns.js';
import type { InferenceServer } from '../../server/inference-server.js';
import { thrownText } from '../../thrown-text.js';
import type { GroupAccess } from '../service/access.js';
import { foreignHost } from './foreign-host.js';
import { LoadHistory } from './load-history.js';
import { pageFiles } from './page-files.js';

/**
 * Answers a call of the protocol.
 *
 * @param streams - Whether a call of `infer` is answered as a stream of binary answers.
 */
export type ProtocolCall = (request: IncomingMessage, response: ServerResponse, streams: boolean) => void;

/** Groups of calls whose data the page shows: where one needs a secret, the page does. */
const shownGroups = ['ui', 'metadata', 'statistics', 'model-repository', 'model-config'] as const;

/**
 * The page runs its own script alone, and nothing else: none in HTML, none of other places. It is in no frame, and sends
 * no form.
 */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

const safeHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': policy,
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
};

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

const files: ReadonlyMap<string, readonly [type: string, text: string]> = new Map(
  Object.entries(pageFiles).map(([path, text]) => [
    path === 'page.html' ? '/ui/' : `/ui/${path}`,
    [types[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream', text],
  ]),
);

/** The calls that the page makes: the metadata and configuration of a model, and requests to it. */
const modelCall = /^\/ui(\/v2\/models\/[^/]+(?:\/versions\/\d+)?(\/config|\/infer|\/stream)?)$/;

/** Which header a page of another site cannot send without asking the server first, which refuses. */
const ownHeader = 'tritonts-ui';

/** See the head of this file. */
export class UiHandler {
  readonly #server: InferenceServer;
  readonly #access: GroupAccess;
  readonly #call: ProtocolCall;
  readonly #loads: LoadHistory;
  readonly #turns = new Turns();

  /** @param call - Answers calls of the protocol, which check their own groups. */
  constructor(server: InferenceServer, access: GroupAccess, call: ProtocolCall) {
    this.#server = server;
    this.#access = access;
    this.#call = call;
    this.#loads = new LoadHistory(server);
  }

  /** Answers a request, if its path is of the page. Returns whether it is. */
  handle(request: IncomingMessage, response: ServerResponse): boolean {
    const path = request.url?.split('?', 1)[0] ?? '';
    if (path !== '/ui' && !path.startsWith('/ui/')) return false;
    const call = modelCall.exec(path);
    if (call !== null) this.#protocol(request, response, call[1] ?? '', call[2]);
    else if (path === '/ui') {
      // Relative, because a proxy or a framework may have a path before it.
      response.writeHead(308, { ...safeHeaders, Location: 'ui/' }).end();
      request.resume();
    } else this.#read(request, response, path);
    return true;
  }

  /** Answers requests that only read. */
  #read(request: IncomingMessage, response: ServerResponse, path: string): void {
    request.resume();
    const file = files.get(path);
    if (file === undefined && path !== '/ui/state') refuse(response, 404, 'Not Found');
    else if (request.method !== 'GET' && request.method !== 'HEAD')
      refuse(response, 405, 'Method Not Allowed', { Allow: 'GET, HEAD' });
    else if (file !== undefined) {
      const [type, text] = file;
      response
        .writeHead(200, {
          ...safeHeaders,
          'Content-Type': type,
          'Content-Length': Buffer.byteLength(text),
          'Cache-Control': 'no-cache',
        })
        .end(request.method === 'HEAD' ? undefined : text);
    } else if (this.#allows(request, response, shownGroups))
      this.#turns.take(request.socket, response, () => void this.#state(response));
  }

  async #state(response: ServerResponse): Promise<void> {
    try {
      const answer = await topAnswerOf(this.#server);
      const text = JSON.stringify({ ...answer, loads: this.#loads.compare(answer.metrics) });
      if (!response.destroyed)
        response
          .writeHead(200, {
            ...safeHeaders,
            'Content-Type': 'application/json',
            'Content-Length': Buffer.byteLength(text),
            'Cache-Control': 'no-store',
          })
          .end(text);
    } catch (error) {
      if (!response.destroyed) refuse(response, 503, thrownText(error));
    }
  }

  #protocol(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    call: string | undefined,
  ): void {
    const streams = call === '/stream';
    const method = streams || call === '/infer' ? 'POST' : 'GET';
    if (request.method !== method) {
      request.resume();
      refuse(response, 405, 'Method Not Allowed', { Allow: method });
    } else if (this.#allows(request, response, ['ui'])) {
      for (const [name, value] of Object.entries(safeHeaders)) response.setHeader(name, value);
      // The protocol has no streams of binary answers. Their requests are those of infer.
      request.url = streams ? path.replace(/stream$/, 'infer') : path;
      this.#call(request, response, streams);
    } else request.resume();
  }

  /** Whether the page itself asks, with the secrets that it needs. If not, the request is answered. */
  #allows(request: IncomingMessage, response: ServerResponse, groups: readonly string[]): boolean {
    const { headers } = request;
    const site = headers['sec-fetch-site'];
    if (headers[ownHeader] !== '1' || (site !== undefined && site !== 'same-origin')) {
      refuse(response, 403, `only the page may ask, with the header '${ownHeader}'`);
      return false;
    }
    const foreign = foreignHost(request);
    if (foreign !== undefined) {
      const own = "localhost, an address, or this machine's name";
      refuse(response, 403, `expected ${own} in the header Host but received '${foreign}'`);
      return false;
    }
    for (const group of groups) {
      const header = this.#access.refusedFor(group, headers);
      if (header === undefined) continue;
      refuse(response, 403, `This API is restricted, expecting header '${header}'`);
      return false;
    }
    return true;
  }
}

function refuse(
  response: ServerResponse,
  status: number,
  error: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response
    .writeHead(status, { ...safeHeaders, ...headers, 'Content-Type': 'application/json' })
    .end(JSON.stringify({ error }));
}

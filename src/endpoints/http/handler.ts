/** Answers requests over HTTP: which call it is, whether it may be made, its body, its answer. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { invalidArgument, TritonError } from '../../errors.js';
import type { InferenceServer } from '../../server/inference-server.js';
import type { InferResult } from '../../server/results.js';
import { Client } from '../service/client.js';
import type { Parameters, ParameterValue } from '../service/parameters.js';
import { InferenceService } from '../service/service.js';
import { Access } from './access.js';
import { BodyReader } from './body.js';
import { answerEncoding, requestEncoding } from './compression.js';
import { readIndexRequest, readLoadRequest, readUnloadRequest } from './control-request.js';
import { Exchange } from './exchange.js';
import { readGenerateRequest, sendEvents, sendGenerated } from './generate.js';
import { readInferRequest, readRawRequest, type HttpInferRequest } from './infer-request.js';
import { writeInferAnswer } from './infer-response.js';
import type { CheckedHandlerOptions } from './options.js';
import { Routes, type Call } from './routes.js';

/** Calls that are refused, and what they are about. */
const missing: Readonly<Partial<Record<Call, string>>> = {
  trace: 'tracing is not supported',
  logging:
    'log settings cannot be read or changed over the network; the program that made the server has them',
  sharedMemory: 'shared memory is not supported',
  repositoryLoad: "'repository_name' specification is not supported",
};

/** See the head of this file. */
export class HttpHandler {
  readonly #service: InferenceService;
  readonly #access: Access;
  readonly #bodies: BodyReader;
  readonly #routes: Routes = new Routes();
  readonly #clients: WeakMap<Socket, Client> = new WeakMap();
  readonly #forwarded: RegExp | undefined;
  readonly #closing: () => boolean;

  constructor(server: InferenceServer, options: CheckedHandlerOptions, closing: () => boolean) {
    this.#service = new InferenceService(server);
    this.#access = new Access(options.restricted);
    this.#bodies = new BodyReader(options.maxRequestBytes);
    this.#forwarded = options.headerForwardPattern;
    this.#closing = closing;
  }

  /**
   * Answers a request.
   *
   * @param next - Called for paths that are no call of the protocol's; without it they are answered with 404.
   */
  handle(request: IncomingMessage, response: ServerResponse, next: (() => void) | undefined): void {
    const route = this.#routes.of(request.url ?? '');
    if (route === undefined) {
      if (next !== undefined) next();
      else refuse(request, response, 404, 'Not Found');
      return;
    }
    if (!route.methods.includes(request.method ?? '')) {
      refuse(request, response, 405, 'Method Not Allowed', ['Allow', route.methods.join(', ')]);
      return;
    }
    const header = this.#access.refusedFor(route.group, request.headers);
    if (header !== undefined) {
      refuse(request, response, 403, `This API is restricted, expecting header '${header}'`);
      return;
    }
    const client = this.#clientOf(request.socket);
    this.#answer(new Exchange(request, response, route, client, this.#closing));
  }

  #clientOf(socket: Socket): Client {
    let client = this.#clients.get(socket);
    if (client === undefined) {
      const made = new Client();
      client = made;
      this.#clients.set(socket, made);
      socket.once('close', () => {
        made.end();
      });
      if (socket.destroyed) made.end();
    }
    return client;
  }

  #answer(exchange: Exchange): void {
    const { call } = exchange.route;
    try {
      const why = missing[call];
      if (why !== undefined) throw new TritonError('UNSUPPORTED', why);
      const answer = this.#withoutBody[call];
      if (answer !== undefined) answer(exchange);
      else this.#answerWithBody(exchange);
    } catch (error) {
      exchange.sendError(error);
    }
  }

  /** Calls that have no body. */
  readonly #withoutBody: Readonly<Partial<Record<Call, (exchange: Exchange) => void>>> = {
    live: (exchange) => {
      exchange.sendEmpty(this.#service.live() ? 200 : 400);
    },
    ready: (exchange) => {
      exchange.sendEmpty(this.#service.ready() ? 200 : 400);
    },
    modelReady: (exchange) => {
      const { model, version } = exchange.route;
      if (this.#service.modelReady(model, version)) exchange.sendEmpty(200);
      else exchange.sendJson(400, '{"error":"Model version not ready"}');
    },
    metadata: (exchange) => {
      exchange.sendJson(200, JSON.stringify(this.#service.metadata()));
    },
    modelMetadata: (exchange) => {
      const { model, version } = exchange.route;
      exchange.sendJson(200, JSON.stringify(this.#service.modelMetadata(model, version)));
    },
    config: (exchange) => {
      const { model, version } = exchange.route;
      exchange.sendJson(200, this.#service.modelConfigJson(model, version));
    },
    statistics: (exchange) => {
      const { model, version } = exchange.route;
      const statistics = this.#service.statistics(model === '' ? undefined : model, version);
      exchange.sendJson(200, JSON.stringify(statistics));
    },
    sharedMemoryStatus: (exchange) => {
      exchange.sendJson(200, '[]'); // No region can be registered.
    },
  };

  #answerWithBody(exchange: Exchange): void {
    const { request, route } = exchange;
    const encoding = requestEncoding(request.headers['content-encoding']);
    if (encoding === 'unknown' || (encoding !== 'plain' && route.call !== 'infer')) {
      const error = new TritonError('UNSUPPORTED', 'Unsupported compression type');
      exchange.sendError(error, undefined, [
        'Accept-Encoding',
        route.call === 'infer' ? 'gzip, deflate' : 'identity',
      ]);
      return;
    }
    const jsonSize = route.call === 'infer' ? headerSize(request) : undefined;
    const fail = (error: unknown): void => {
      exchange.sendError(error);
    };
    const use = (error: TritonError | undefined, body: Buffer): void => {
      if (error !== undefined) {
        fail(error);
        return;
      }
      exchange.whenDone(() => {
        this.#bodies.release(body.length);
      });
      try {
        this.#useBody(exchange, body, jsonSize);
      } catch (thrown) {
        fail(thrown);
      }
    };
    const gone = (): void => {
      exchange.finish();
    };
    this.#bodies.collect(
      request,
      encoding === 'plain' ? (jsonSize ?? 0) : 0,
      (error, body) => {
        if (error !== undefined || encoding === 'plain') use(error, body);
        else this.#bodies.unzip(body, use);
      },
      gone,
    );
  }

  #useBody(exchange: Exchange, body: Buffer, jsonSize: number | undefined): void {
    const { call, model } = exchange.route;
    if (call === 'infer') this.#infer(exchange, body, jsonSize);
    else if (call === 'generate' || call === 'generateStream') this.#generate(exchange, body);
    else if (call === 'load') this.#finishWith(exchange, this.#service.load(model, readLoadRequest(body)));
    else if (call === 'unload')
      this.#finishWith(exchange, this.#service.unload(model, readUnloadRequest(body)));
    else exchange.sendJson(200, JSON.stringify(this.#service.index(readIndexRequest(body))));
  }

  #finishWith(exchange: Exchange, action: Promise<void>): void {
    action.then(
      () => {
        exchange.sendEmpty(200);
      },
      (error: unknown) => {
        exchange.sendError(error);
      },
    );
  }

  #infer(exchange: Exchange, body: Buffer, jsonSize: number | undefined): void {
    const { model, version } = exchange.route;
    const { headers } = exchange.request;
    if (jsonSize !== undefined && jsonSize > body.length) {
      throw invalidArgument(
        `Inference-Header-Content-Length is ${jsonSize}, but the body has ${body.length} bytes`,
      );
    }
    const read = jsonSize === 0 ? this.#raw(exchange, body) : readInferRequest(body, jsonSize ?? body.length);
    const encoding = answerEncoding(headers['accept-encoding']);
    const { id, inputs, outputs, binary } = read;
    const parameters = this.#withHeaders(exchange.request, read.parameters);
    this.#service.infer({ model, version, id, inputs, parameters, outputs }, exchange.client, 'INTERNAL', {
      resolve: (result) => {
        try {
          exchange.sendInfer(writeInferAnswer(result, binary), encoding);
        } catch (error) {
          exchange.sendError(error);
        }
      },
      reject: (error) => {
        exchange.sendError(error);
      },
    });
  }

  #raw({ route: { model, version } }: Exchange, body: Buffer): HttpInferRequest {
    const metadata = this.#service.modelMetadata(model, version);
    const { max_batch_size: most } = this.#service.modelConfig(model, version);
    return readRawRequest(body, metadata, most > 0);
  }

  #generate(exchange: Exchange, body: Buffer): void {
    const { model, version, call } = exchange.route;
    const metadata = this.#service.modelMetadata(model, version);
    const { id, inputs, parameters: given } = readGenerateRequest(body, metadata);
    const parameters = this.#withHeaders(exchange.request, given);
    const request = { model, version, id, inputs, parameters, outputs: undefined };
    const responses: AsyncIterableIterator<InferResult> = this.#service.stream(request, 'INTERNAL');
    const forget = exchange.client.onGone(() => {
      void responses.return?.();
    });
    const send = call === 'generate' ? sendGenerated : sendEvents;
    void send(exchange, responses).finally(forget);
  }

  /** The parameters, and those headers that are forwarded. */
  #withHeaders({ rawHeaders }: IncomingMessage, parameters: Parameters): Parameters {
    const pattern = this.#forwarded;
    if (pattern === undefined) return parameters;
    const all = new Map<string, ParameterValue>(parameters);
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] ?? '';
      if (!pattern.test(name)) continue;
      if (isReserved(name))
        throw invalidArgument(
          `header '${name}' cannot be forwarded: it has the name of a parameter that means something`,
        );
      all.set(name, rawHeaders[i + 1] ?? '');
    }
    return all;
  }
}

/** Whether a parameter of that name means something to the server, so that a header must not be taken for it. */
function isReserved(name: string): boolean {
  return /^(triton_.*|priority|timeout|sequence_(id|start|end)|headers|binary_data_output)$/i.test(name);
}

/** How many bytes of the body are JSON; undefined: all. As in Triton, a text that is no number counts as 0. */
function headerSize({ headers }: IncomingMessage): number | undefined {
  const text = headers['inference-header-content-length'];
  if (text === undefined) return undefined;
  if (typeof text !== 'string' || !/^-?\d+$/.test(text)) return 0;
  const size = Number(text);
  if (size >= 0 && Number.isSafeInteger(size)) return size;
  throw invalidArgument(`Inference-Header-Content-Length is ${text}, which is no size`);
}

/** Answers a request that is for no call. Node throws its body away. */
function refuse(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  text: string,
  headers: string[] = [],
): void {
  request.resume();
  const body = JSON.stringify({ error: text });
  const length = String(Buffer.byteLength(body));
  response.writeHead(status, ['Content-Type', 'application/json', 'Content-Length', length, ...headers]);
  response.end(body);
}

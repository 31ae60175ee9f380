/** Answers requests over HTTP: finds the call, checks access, reads the body, and sends the answer. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { invalidArgument, TritonError } from '../../errors.js';
import type { InferenceServer } from '../../server/inference-server.js';
import type { InferResult } from '../../api/results.js';
import type { AwaitedModel } from '../../server/lazy/lazy-loads.js';
import { GroupAccess } from '../service/access.js';
import type { LogChanges } from '../service/log-settings.js';
import type { TraceChanges } from '../service/trace-settings.js';
import type { Parameters, ParameterValue } from '../../protocol/parameters.js';
import { namingModel } from '../service/request-errors.js';
import { InferenceService } from '../service/service.js';
import { BodyReader } from './body.js';
import { requestEncoding } from './compression.js';
import { AnswerBytes, Connections, type Connection } from './connection.js';
import {
  readIndexRequest,
  readLoadRequest,
  readLogRequest,
  readTraceRequest,
  readUnloadRequest,
} from './control-request.js';
import { answerWith, finishWith } from './answer-later.js';
import { sendBinaryStream } from './binary-stream.js';
import { Exchange } from './exchange.js';
import type { InferExchange } from './infer-exchange.js';
import { PlainExchange, type PlainEnd } from './plain-exchange.js';
import { readPlainHead, type PlainHead } from './plain-head.js';
import { readGenerateRequest, sendEvents, sendGenerated } from './generate.js';
import { readInferRequest, readRawRequest, type HttpInferRequest } from './infer-request.js';
import { writeInferAnswer } from './infer-response.js';
import { writeAnswer } from './long-answer.js';
import { KnownForms } from './known-forms.js';
import { loadFormatHeader, LoadHeaders } from './load-metrics.js';
import type { CheckedHandlerOptions } from './options.js';
import { readCudaRegion, readSystemRegion } from './region-request.js';
import { binaryStreamOf, Routes, type Call, type Route } from './routes.js';

/** Calls that are always refused, with the reason. */
const missing: Readonly<Partial<Record<Call, string>>> = {
  repositoryLoad: "'repository_name' specification is not supported",
};

/** The lower bound of the limit for bytes of unread answers. */
const leastAnswerBytes = 256 << 20;
/** The limit for unread answers of all connections, as a multiple of the limit of a request's body. */
const answersAtOnce = 16;

/** See the head of this file. */
export class HttpHandler {
  readonly #service: InferenceService;
  readonly #access: GroupAccess;
  readonly #bodies: BodyReader;
  readonly #routes: Routes = new Routes();
  readonly #connections: Connections;
  /** The known forms of each route. `Routes` keeps the routes, and bounds their number. */
  readonly #forms: WeakMap<Route, KnownForms> = new WeakMap();
  readonly #forwarded: RegExp | undefined;
  readonly #closing: () => boolean;
  readonly #owned: boolean;
  readonly #load: LoadHeaders = new LoadHeaders((name) => this.#service.customMetric(name));

  /** @param owned - Whether no code outside of the endpoint has access to the responses. */
  constructor(
    server: InferenceServer,
    options: CheckedHandlerOptions,
    closing: () => boolean,
    owned: boolean,
  ) {
    this.#service = new InferenceService(server, options);
    this.#access = new GroupAccess(options.restricted);
    this.#bodies = new BodyReader(options.maxRequestBytes);
    const answerBytes = Math.max(leastAnswerBytes, answersAtOnce * options.maxRequestBytes);
    this.#connections = new Connections(new AnswerBytes(answerBytes, answerBytes / answersAtOnce));
    this.#forwarded = options.headerForwardPattern;
    this.#closing = closing;
    this.#owned = owned;
  }

  /** The state of a socket's connection. */
  connectionOf(socket: Socket): Connection {
    return this.#connections.of(socket);
  }

  /**
   * Answers a request.
   *
   * @param next - Called for paths that are not a call of the protocol; without it they are answered with 404.
   * @param streams - Whether a call of `infer` is answered as a stream of binary answers.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    next: (() => void) | undefined,
    streams: boolean = false,
  ): void {
    const found = this.#routes.of(request.url ?? '');
    const route = streams && found?.call === 'infer' ? binaryStreamOf(found) : found;
    if (route === undefined && next !== undefined) {
      next();
      return;
    }
    const exchange = new Exchange(
      request,
      response,
      this.#connections.of(request.socket),
      this.#closing,
      this.#owned,
    );
    if (route === undefined) {
      exchange.refuse(404, 'Not Found');
      return;
    }
    const { methods } = route;
    if (request.method !== methods[0] && !methods.includes(request.method ?? '')) {
      exchange.refuse(405, 'Method Not Allowed', ['Allow', methods.join(', ')]);
      return;
    }
    if (route.group === 'inference' && this.#service.traces) {
      exchange.trace = this.#service.traceOf(request.headers);
      exchange.trace.note('HTTP_RECV_START');
    }
    const header = this.#access.refusedFor(route.group, request.headers);
    if (header === undefined) this.#answer(exchange, route);
    else exchange.refuse(403, `This API is restricted, expecting header '${header}'`);
  }

  /** Whether requests to infer may be plain ones, whose headers have no effect. */
  get plain(): boolean {
    return !this.#service.traces && this.#forwarded === undefined && !this.#access.restricts('inference');
  }

  /** The head of a plain request; undefined for any other. */
  plainHead(text: string): PlainHead | undefined {
    return readPlainHead(text, this.#routes, this.#bodies.maxBytes);
  }

  /** Answers a plain request. */
  handlePlain(socket: Socket, { route, jsonSize }: PlainHead, body: Buffer, end: PlainEnd): void {
    const why = this.#bodies.hold(body.length, body.length, 0);
    const held = why === undefined ? body.length : 0;
    const exchange = new PlainExchange(socket, this.#connections.of(socket), this.#bodies, held, end);
    const refusal = why ?? exchange.refusal();
    if (refusal !== undefined) {
      exchange.sendError(refusal);
      return;
    }
    try {
      const awaited = this.#service.whenAwake(route.model, route.version, body.length);
      if (awaited === undefined) this.#infer(exchange, route, body, jsonSize);
      else this.#inferLater(exchange, route, body, jsonSize, awaited);
    } catch (error) {
      exchange.sendError(error);
    }
  }

  #answer(exchange: Exchange, route: Route): void {
    const { call } = route;
    try {
      const why = missing[call];
      if (why !== undefined) throw new TritonError('UNSUPPORTED', why);
      const answer = this.#withoutBody[call];
      if (answer !== undefined) answer(exchange, route);
      else if (call === 'logging' && exchange.request.method === 'GET') this.#changeLog(exchange, {});
      else if (call === 'trace' && exchange.request.method === 'GET')
        this.#changeTrace(exchange, route, undefined);
      else this.#answerWithBody(exchange, route);
    } catch (error) {
      exchange.sendError(error);
    }
  }

  /** Calls without a body. */
  readonly #withoutBody: Readonly<Partial<Record<Call, (exchange: Exchange, route: Route) => void>>> = {
    live: (exchange) => {
      exchange.sendEmpty(this.#service.live() ? 200 : 400);
    },
    ready: (exchange) => {
      exchange.sendEmpty(this.#service.ready() ? 200 : 400);
    },
    modelReady: (exchange, { model, version }) => {
      void this.#service.modelReady(model, version).then((ready) => {
        if (ready) exchange.sendEmpty(200);
        else exchange.sendJson(400, '{"error":"Model version not ready"}');
      });
    },
    metadata: (exchange) => {
      exchange.sendJson(200, JSON.stringify(this.#service.metadata()));
    },
    modelMetadata: (exchange, { model, version }) => {
      this.#whenAwake(exchange, model, version, () => {
        exchange.sendJson(200, JSON.stringify(this.#service.modelMetadata(model, version)));
      });
    },
    config: (exchange, { model, version }) => {
      this.#whenAwake(exchange, model, version, () => {
        exchange.sendJson(200, this.#service.modelConfigJson(model, version));
      });
    },
    statistics: (exchange, { model, version }) => {
      const name = model === '' ? undefined : model;
      const send = (): void => {
        exchange.sendJson(200, JSON.stringify(this.#service.statistics(name, version)));
      };
      // Clients ask for these before their first request.
      if (name === undefined) send();
      else this.#whenAwake(exchange, name, version, send);
    },
    systemStatus: (exchange, { model: name }) => {
      const regions = this.#service.regions.systemStatus(name === '' ? undefined : name);
      const list = regions.map(({ name: of, key, offset, byteSize }) => ({
        ...{ name: of, key, offset },
        byte_size: byteSize,
      }));
      exchange.sendJson(200, JSON.stringify(list));
    },
    cudaStatus: (exchange, { model: name }) => {
      const regions = this.#service.regions.cudaStatus(name === '' ? undefined : name);
      const list = regions.map(({ name: of, deviceId, byteSize }) => ({
        name: of,
        device_id: deviceId,
        byte_size: byteSize,
      }));
      exchange.sendJson(200, JSON.stringify(list));
    },
    systemUnregister: (exchange, { model: name }) => {
      this.#service.regions.unregister('system', name === '' ? undefined : name);
      exchange.sendEmpty(200);
    },
    cudaUnregister: (exchange, { model: name }) => {
      this.#service.regions.unregister('cuda', name === '' ? undefined : name);
      exchange.sendEmpty(200);
    },
  };

  #answerWithBody(exchange: Exchange, route: Route): void {
    const { request } = exchange;
    const { call } = route;
    // Check before reading a body that would not be used.
    if (call === 'load' || call === 'unload') this.#service.checkControl();
    if (call === 'systemRegister' || call === 'cudaRegister') this.#service.regions.checkAllowed();
    const refusal = exchange.refusal();
    if (refusal !== undefined) throw refusal;
    const encoding = requestEncoding(request.headers['content-encoding']);
    const isInfer = call === 'infer' || call === 'binaryStream';
    if (encoding === 'unknown' || (encoding !== 'plain' && !isInfer)) {
      const error = new TritonError('UNSUPPORTED', 'Unsupported compression type');
      exchange.sendError(error, 415, ['Accept-Encoding', isInfer ? 'gzip, deflate' : 'identity']);
      return;
    }
    const jsonSize = isInfer ? headerSize(request) : undefined;
    const use = (error: TritonError | undefined, body: Buffer): void => {
      if (error !== undefined) {
        exchange.sendError(error);
        return;
      }
      exchange.trace?.note('HTTP_RECV_END');
      exchange.holds(this.#bodies, body);
      try {
        this.#useBody(exchange, route, body, jsonSize);
      } catch (thrown) {
        exchange.sendError(thrown);
      }
    };
    this.#bodies.collect(request, encoding === 'plain' ? (jsonSize ?? 0) : 0, (error, body) => {
      if (error !== undefined || encoding === 'plain') use(error, body);
      else this.#bodies.unzip(body, use);
    });
  }

  /** Calls a function when a lazy model is loaded; at once, if there is nothing to wait for. */
  #whenAwake(exchange: Exchange, model: string, version: string | undefined, use: () => void): void {
    const awaited = this.#service.whenAwake(model, version);
    if (awaited === undefined) use();
    else this.#await(exchange, awaited, use);
  }

  /** Calls a function when a lazy model is loaded, unless the client has gone. */
  #await(exchange: InferExchange, awaited: AwaitedModel, use: () => void): void {
    // Nothing else here refers to the body, so that it goes with its client.
    let then: (() => void) | undefined = use;
    const forget = exchange.client.onGone(() => {
      then = undefined;
      awaited.leave();
      exchange.finish();
    });
    const fail = (error: unknown): void => {
      forget();
      exchange.sendError(error);
    };
    awaited.loaded.then(() => {
      forget();
      // As for calls that do not wait.
      try {
        if (exchange.open) then?.();
        else exchange.finish();
      } catch (error) {
        fail(error);
      }
    }, fail);
  }

  #useBody(exchange: Exchange, route: Route, body: Buffer, jsonSize: number | undefined): void {
    const { call, model } = route;
    if (requestCalls.has(call)) {
      const awaited = this.#service.whenAwake(model, route.version, body.length);
      if (awaited === undefined) this.#request(exchange, route, body, jsonSize);
      else this.#requestLater(exchange, route, body, jsonSize, awaited);
    } else if (call === 'load') finishWith(exchange, this.#service.load(model, readLoadRequest(body)));
    else if (call === 'unload') finishWith(exchange, this.#service.unload(model, readUnloadRequest(body)));
    else if (call === 'logging') this.#changeLog(exchange, readLogRequest(body));
    else if (call === 'trace') this.#changeTrace(exchange, route, readTraceRequest(body));
    else if (call === 'systemRegister') {
      this.#service.regions.registerSystem(model, readSystemRegion(body));
      exchange.sendEmpty(200);
    } else if (call === 'cudaRegister') {
      finishWith(exchange, this.#service.regions.registerCuda(model, readCudaRegion(body)));
    } else exchange.sendJson(200, JSON.stringify(this.#service.index(readIndexRequest(body))));
  }

  #request(exchange: Exchange, route: Route, body: Buffer, jsonSize: number | undefined): void {
    if (route.call === 'infer') this.#infer(exchange, route, body, jsonSize);
    else if (route.call === 'binaryStream') this.#binaryStream(exchange, route, body, jsonSize);
    else this.#generate(exchange, route, body);
  }

  /** Apart, because a function in the caller would cost each request an allocation. */
  #requestLater(
    exchange: Exchange,
    route: Route,
    body: Buffer,
    jsonSize: number | undefined,
    awaited: AwaitedModel,
  ): void {
    this.#await(exchange, awaited, () => {
      this.#request(exchange, route, body, jsonSize);
    });
  }

  /** Apart for the same reason. */
  #inferLater(
    exchange: InferExchange,
    route: Route,
    body: Buffer,
    jsonSize: number | undefined,
    awaited: AwaitedModel,
  ): void {
    this.#await(exchange, awaited, () => {
      this.#infer(exchange, route, body, jsonSize);
    });
  }

  #changeLog(exchange: Exchange, changes: LogChanges): void {
    answerWith(exchange, this.#service.changeLog(changes));
  }

  #changeTrace(exchange: Exchange, { model }: Route, changes: TraceChanges | undefined): void {
    answerWith(exchange, this.#service.changeTrace(changes, model));
  }

  #infer(exchange: InferExchange, route: Route, body: Buffer, jsonSize: number | undefined): void {
    const { model, version } = route;
    const read = this.#read(route, body, jsonSize);
    const { encoding } = exchange;
    const { id, inputs, outputs, binary, targets } = read;
    const parameters = this.#withHeaders(exchange.rawHeaders, read.parameters);
    const { trace } = exchange;
    const fail = (error: unknown): void => {
      exchange.sendError(error);
    };
    this.#service.infer(
      { model, version, id, inputs, parameters, outputs, targets, trace },
      exchange.client,
      {
        resolve: (result) => {
          trace?.completed();
          writeAnswer(
            exchange,
            result.outputs,
            (name) => !(binary.listed.get(name) ?? binary.others),
            writeInferAnswer(result, binary, outputs),
            (answer) => {
              if (answer === undefined) exchange.finish();
              else exchange.sendInfer(answer, encoding);
            },
            fail,
          );
        },
        reject: (error) => {
          trace?.completed(error);
          fail(error);
        },
      },
    );
  }

  #read(route: Route, body: Buffer, jsonSize: number | undefined): HttpInferRequest {
    try {
      if (jsonSize !== undefined && jsonSize > body.length) {
        throw invalidArgument(
          `Inference-Header-Content-Length is ${jsonSize}, but the body has ${body.length} bytes`,
        );
      }
      return jsonSize === 0 ? this.#raw(route, body) : this.#readJson(route, body, jsonSize ?? body.length);
    } catch (error) {
      // As in Triton, the error of an unavailable model comes before an error of the body.
      if (route.call === 'infer') this.#service.checkInferable(route.model, route.version);
      else this.#service.modelMetadata(route.model, route.version);
      throw namingModel(error, route.model);
    }
  }

  #readJson(route: Route, body: Buffer, jsonSize: number): HttpInferRequest {
    let forms = this.#forms.get(route);
    if (forms === undefined) this.#forms.set(route, (forms = new KnownForms(this.#service.regions)));
    const known = forms.read(body, jsonSize);
    if (known !== undefined) return known;
    const request = readInferRequest(body, jsonSize, this.#service.regions);
    forms.learn(body, jsonSize, request);
    return request;
  }

  #raw({ model, version }: Route, body: Buffer): HttpInferRequest {
    const metadata = this.#service.modelMetadata(model, version);
    const { max_batch_size: most } = this.#service.modelConfig(model, version);
    return readRawRequest(body, metadata, most > 0);
  }

  #generate(exchange: Exchange, { model, version, call }: Route, body: Buffer): void {
    const metadata = this.#service.modelMetadata(model, version);
    const { id, inputs, parameters: given } = readGenerateRequest(body, metadata);
    const parameters = this.#withHeaders(exchange.rawHeaders, given);
    const { trace } = exchange;
    const request = { model, version, id, inputs, parameters, outputs: undefined, targets: undefined, trace };
    const responses: AsyncIterableIterator<InferResult> = this.#service.stream(request);
    const format = exchange.request.headers[loadFormatHeader];
    if (format !== undefined) exchange.adds(() => this.#load.of(format));
    const send = call === 'generate' ? sendGenerated : sendEvents;
    stream(exchange, responses, send(exchange, responses));
  }

  #binaryStream(exchange: Exchange, route: Route, body: Buffer, jsonSize: number | undefined): void {
    const { model, version } = route;
    const { id, inputs, outputs, binary, targets, ...read } = this.#read(route, body, jsonSize);
    const parameters = this.#withHeaders(exchange.rawHeaders, read.parameters);
    const { trace } = exchange;
    const request = { model, version, id, inputs, parameters, outputs, targets, trace };
    const responses: AsyncIterableIterator<InferResult> = this.#service.stream(request);
    stream(exchange, responses, sendBinaryStream(exchange, responses, binary));
  }

  /** Returns the parameters with the forwarded headers added. */
  #withHeaders(rawHeaders: readonly string[], parameters: Parameters): Parameters {
    const pattern = this.#forwarded;
    if (pattern === undefined) return parameters;
    const all = new Map<string, ParameterValue>(parameters);
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      const name = rawHeaders[i] ?? '';
      if (!pattern.test(name)) continue;
      if (isReserved(name))
        throw invalidArgument(
          `header '${name}' cannot be forwarded: the server itself reads a parameter of that name`,
        );
      all.set(name, rawHeaders[i + 1] ?? '');
    }
    return all;
  }
}

/** Calls whose bodies are requests to a model. */
const requestCalls: ReadonlySet<Call> = new Set(['infer', 'generate', 'generateStream', 'binaryStream']);

/** Ends the responses to a client that leaves while they are sent. */
function stream(
  { client }: Exchange,
  responses: AsyncIterableIterator<InferResult>,
  sent: Promise<void>,
): void {
  const forget = client.onGone(() => {
    void responses.return?.();
  });
  void sent.finally(forget);
}

/** Whether the server itself reads parameters of this name. Headers with these names are not forwarded. */
function isReserved(name: string): boolean {
  return /^(triton_.*|priority|timeout|sequence_(id|start|end)|headers|binary_data_output)$/i.test(name);
}

/** How many bytes of the body are JSON; undefined: all. As in Triton, a text that is not a number counts as 0. */
function headerSize({ headers }: IncomingMessage): number | undefined {
  const text = headers['inference-header-content-length'];
  if (text === undefined) return undefined;
  if (typeof text !== 'string' || !/^-?\d+$/.test(text)) return 0;
  const size = Number(text);
  if (size >= 0 && Number.isSafeInteger(size)) return size;
  throw invalidArgument(`expected a size for Inference-Header-Content-Length but received ${text}`);
}

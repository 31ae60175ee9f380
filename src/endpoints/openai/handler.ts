/** Answers the requests of OpenAI's clients: finds the call, checks access, reads the body, and sends the answer. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TritonError } from '../../errors.js';
import type { InferenceServer } from '../../server/inference-server.js';
import type { InferResult } from '../../api/results.js';
import type { Inputs } from '../../tensor/inputs.js';
import { contentType, scrapeText } from '../../metrics/scrape-text.js';
import { printableLine } from '../../printable.js';
import { BodyReader } from '../http/body.js';
import { requestEncoding } from '../http/compression.js';
import { AnswerBytes, Connections, type Connection } from '../http/connection.js';
import { Exchange } from '../http/exchange.js';
import { GroupAccess } from '../service/access.js';
import { Client } from '../service/client.js';
import { InferenceService, type ServiceRequest } from '../service/service.js';
import { checkChat, readChat } from './chat-request.js';
import { promptOf } from './chat-prompt.js';
import { checkCompletion, readCompletion } from './completion-request.js';
import { embeddingModel } from './embedding-model.js';
import { readEmbeddings } from './embedding-request.js';
import { openAIErrors, readingFields } from './error-form.js';
import { Generation } from './generation.js';
import { ModelList } from './models.js';
import type { CheckedOpenAIOptions } from './options.js';
import { openAIRoute, type OpenAIRoute } from './routes.js';
import { sendEmbeddings } from './send-embeddings.js';
import { sendPieces, sendWhole } from './send-text.js';
import { Templates } from './templates.js';
import { chatForm, completionForm, type TextForm } from './text-form.js';
import { TextModel, type TextRequest } from './text-model.js';

/** The limits of unread answers, of all connections and of each, as of the HTTP endpoint. */
const leastAnswerBytes = 256 << 20;
const answersAtOnce = 16;
/** The longest name of a model in a message. */
const longestName = 256;
/** A model that was told not to stream sends one response, and perhaps an empty one that ends it. */
const mostResponses = 2;

/** See the head of this file. */
export class OpenAIHandler {
  readonly #server: InferenceServer;
  readonly #options: CheckedOpenAIOptions;
  readonly #service: InferenceService;
  readonly #access: GroupAccess;
  readonly #bodies: BodyReader;
  readonly #connections: Connections;
  readonly #models: ModelList;
  readonly #templates: Templates;
  readonly #closing: () => boolean;

  constructor(server: InferenceServer, options: CheckedOpenAIOptions, closing: () => boolean) {
    this.#server = server;
    this.#options = options;
    this.#service = new InferenceService(server, { clientSharedMemory: false });
    this.#access = new GroupAccess(options.restricted);
    this.#bodies = new BodyReader(options.maxRequestBytes);
    const answerBytes = Math.max(leastAnswerBytes, answersAtOnce * options.maxRequestBytes);
    this.#connections = new Connections(new AnswerBytes(answerBytes, answerBytes / answersAtOnce));
    this.#models = new ModelList(this.#service);
    this.#templates = new Templates(options.maxRequestBytes);
    this.#closing = closing;
  }

  /** The state of a socket's connection. */
  connectionOf(socket: Socket): Connection {
    return this.#connections.of(socket);
  }

  /** Ends the process of templates. All requests have ended. */
  close(): void {
    this.#templates.close();
  }

  /** Answers a request. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.of(request.socket);
    const exchange = new Exchange(request, response, connection, this.#closing, true, openAIErrors);
    const route = openAIRoute(request.url ?? '');
    if (route === undefined) {
      exchange.refuse(404, 'Not Found');
      return;
    }
    if (request.method !== route.method) {
      exchange.refuse(405, 'Method Not Allowed', ['Allow', route.method]);
      return;
    }
    const header = this.#access.refusedFor(route.group, request.headers);
    if (header !== undefined) {
      exchange.refuse(401, `This API is restricted, expecting header '${header}' with valid value`);
      return;
    }
    if (route.group === 'inference' && this.#service.traces) {
      exchange.trace = this.#service.traceOf(request.headers);
      exchange.trace.note('HTTP_RECV_START');
    }
    this.#answer(exchange, route).catch((error: unknown) => {
      exchange.trace?.completed(error);
      exchange.sendError(error);
    });
  }

  async #answer(exchange: Exchange, { call, group, model }: OpenAIRoute): Promise<void> {
    if (group !== 'inference') exchange.request.resume();
    switch (call) {
      case 'models':
        exchange.sendJson(200, JSON.stringify(this.#models.list()));
        break;
      case 'model':
        if (this.#models.has(model)) exchange.sendJson(200, JSON.stringify(this.#models.object(model)));
        else exchange.sendError(unknownModel(model), 404);
        break;
      case 'load':
        await this.#service.load(model, { config: undefined, files: new Map(), force: false });
        exchange.sendJson(200, JSON.stringify(this.#models.object(model)));
        break;
      case 'unload':
        await this.#service.unload(model, false);
        exchange.sendJson(200, JSON.stringify({ status: 'success', model }));
        break;
      case 'ready':
        exchange.sendEmpty(this.#service.ready() ? 200 : 400);
        break;
      case 'metrics':
        await this.#sendMetrics(exchange);
        break;
      case 'chat':
      case 'completion':
      case 'embeddings':
        await this.#answerBody(exchange, call);
    }
  }

  async #sendMetrics(exchange: Exchange): Promise<void> {
    const [status, text] = await scrapeText(this.#server);
    if (!exchange.head(status, ['Content-Type', contentType])) return;
    const size = Buffer.byteLength(text);
    exchange.wrote(size);
    exchange.response.end(text);
  }

  async #answerBody(exchange: Exchange, call: OpenAIRoute['call']): Promise<void> {
    const refusal = exchange.refusal();
    if (refusal !== undefined) throw refusal;
    const encoding = requestEncoding(exchange.request.headers['content-encoding']);
    if (encoding === 'unknown') {
      const error = new TritonError('UNSUPPORTED', 'Unsupported compression type');
      exchange.sendError(error, 415, ['Accept-Encoding', 'gzip, deflate']);
      return;
    }
    const body = await this.#body(exchange.request, encoding !== 'plain');
    exchange.trace?.note('HTTP_RECV_END');
    exchange.holds(this.#bodies, body);
    try {
      if (call === 'embeddings') await this.#embed(exchange, body);
      else await (call === 'chat' ? this.#chat(exchange, body) : this.#complete(exchange, body));
    } finally {
      exchange.finish();
    }
  }

  /** The body; never, if the client leaves before. */
  #body(request: IncomingMessage, isZipped: boolean): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const take = (error: TritonError | undefined, body: Buffer): void => {
        if (error === undefined) resolve(body);
        else reject(error);
      };
      this.#bodies.collect(request, 0, (error, body) => {
        if (error !== undefined || !isZipped) take(error, body);
        else this.#bodies.unzip(body, take);
      });
    });
  }

  async #complete(exchange: Exchange, body: Buffer): Promise<void> {
    const request = readingFields(() => readCompletion(body));
    const prompt = checkCompletion(request);
    const { model: name, fields, echo } = request;
    const model = await this.#textModel(exchange, name, body.length);
    const maxTokens = fields.max_tokens ?? this.#options.defaultMaxTokens;
    const form = completionForm(name, echo ? prompt : '');
    await this.#send(exchange, model, { prompt, stream: fields.stream ?? false, maxTokens, fields }, form);
  }

  async #chat(exchange: Exchange, body: Buffer): Promise<void> {
    const request = readingFields(() => readChat(body));
    checkChat(request);
    const { model: name, fields } = request;
    const model = await this.#textModel(exchange, name, body.length);
    const job = promptOf(this.#service, this.#options.chatTemplate, request);
    const prompt = await this.#whileOpen(
      exchange,
      this.#templates.render(job, () => exchange.gone),
    );
    const maxTokens = fields.max_completion_tokens ?? fields.max_tokens ?? this.#options.defaultMaxTokens;
    const text = { prompt, stream: fields.stream ?? false, maxTokens, fields };
    await this.#send(exchange, model, text, chatForm(name));
  }

  async #send(exchange: Exchange, model: TextModel, request: TextRequest, form: TextForm): Promise<void> {
    if (exchange.gone) return;
    const { stream, maxTokens, fields } = request;
    const responses = this.#service.stream(this.#request(exchange.trace, model.name, model.inputs(request)));
    const forget = exchange.client.onGone(() => {
      void responses.return?.();
    });
    const generation = new Generation(responses, {
      model: model.name,
      stops: fields.stop ?? [],
      maxTokens,
      onResponse: () => exchange.trace?.completed(),
    });
    try {
      if (stream) await sendPieces(exchange, generation, form, fields.stream_options?.include_usage ?? false);
      else await sendWhole(exchange, generation, form, model.takesStream ? mostResponses : Infinity);
    } finally {
      forget();
    }
  }

  async #embed(exchange: Exchange, body: Buffer): Promise<void> {
    const request = readingFields(() => readEmbeddings(body));
    const { model: name, dimensions } = request;
    await this.#awake(exchange, name, body.length);
    const metadata = this.#metadata(name);
    const model = embeddingModel(metadata, this.#service.modelConfig(name, undefined), dimensions);
    const isDecoupled = this.#service.isDecoupled(name, undefined);
    // The requests of this body have an owner of their own: when one fails, the others are cancelled.
    const owner = new Client();
    const forget = exchange.client.onGone(() => {
      owner.end();
    });
    // A trace is of one request.
    let { trace } = exchange;
    try {
      await sendEmbeddings(exchange, request, model, (inputs) => {
        const one = this.#request(trace, name, inputs);
        trace = undefined;
        return isDecoupled ? this.#firstOf(owner, one) : this.#infer(owner, one);
      });
    } finally {
      forget();
      owner.end();
    }
  }

  #infer(owner: Client, request: ServiceRequest): Promise<InferResult> {
    return new Promise((resolve, reject) => {
      this.#service.infer(request, owner, {
        resolve: (result) => {
          request.trace?.completed();
          resolve(result);
        },
        reject,
      });
    });
  }

  /** The first response of a decoupled model. */
  async #firstOf(owner: Client, request: ServiceRequest): Promise<InferResult> {
    const responses = this.#service.stream(request);
    const forget = owner.onGone(() => {
      void responses.return?.();
    });
    try {
      let first: InferResult | undefined;
      // The model is to end by itself.
      for await (const response of responses) first ??= response;
      request.trace?.completed();
      if (first !== undefined) return first;
    } finally {
      forget();
    }
    throw new TritonError('INTERNAL', `model '${request.model}' has sent no response`, {
      model: request.model,
    });
  }

  #request(trace: Exchange['trace'], model: string, inputs: Inputs): ServiceRequest {
    return {
      ...{ model, version: undefined, id: '', inputs, parameters: new Map() },
      ...{ outputs: undefined, targets: undefined, trace },
    };
  }

  async #textModel(exchange: Exchange, name: string, bytes: number): Promise<TextModel> {
    await this.#awake(exchange, name, bytes);
    return new TextModel(this.#metadata(name), this.#service.modelConfig(name, undefined));
  }

  /** @throws {@link TritonError} NOT_FOUND in Triton's words for an unknown model, UNAVAILABLE for one that is not ready. */
  #metadata(model: string): ReturnType<InferenceService['modelMetadata']> {
    try {
      return this.#service.modelMetadata(model, undefined);
    } catch (error) {
      throw error instanceof TritonError && error.code === 'NOT_FOUND' ? unknownModel(model) : error;
    }
  }

  /** Waits for a lazy model that is being loaded. */
  async #awake(exchange: Exchange, model: string, bytes: number): Promise<void> {
    const awaited = this.#service.whenAwake(model, undefined, bytes);
    if (awaited === undefined) return;
    const forget = exchange.client.onGone(() => {
      awaited.leave();
    });
    try {
      await this.#whileOpen(exchange, awaited.loaded);
    } finally {
      forget();
    }
  }

  /** A promise's value. Rejects when the client leaves before. */
  #whileOpen<T>(exchange: Exchange, awaited: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = exchange.client.onGone(() => {
        reject(new TritonError('CANCELLED', 'the client has closed the connection'));
      });
      awaited.then(resolve, reject).finally(forget);
    });
  }
}

function unknownModel(model: string): TritonError {
  const shown = printableLine(model.slice(0, longestName));
  return new TritonError('NOT_FOUND', `Unknown model: ${shown}`, { model });
}

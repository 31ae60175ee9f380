/** Calls over HTTP/1.1: connections that are kept, time limits, retries of what only reads, and the end of it all. */

import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';
import { TritonError, type TritonErrorCode } from '../errors.js';
import type { CheckedConnectOptions } from './options.js';
import { Signals } from './signals.js';

/** A call. */
export interface Call {
  readonly method: 'GET' | 'POST';
  /** Below the server's address; it begins with a slash. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The parts of its body, which go to the socket as they are. */
  readonly body?: readonly Uint8Array[] | undefined;
  /** Whether it only reads, so that it may be tried again. */
  readonly reads: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The model that it is about, for errors. */
  readonly model?: string | undefined;
}

/** What came back, with a status of 200. */
export interface Answer {
  readonly headers: IncomingMessage['headers'];
  /** In memory of its own. */
  readonly body: Uint8Array<ArrayBuffer>;
}

/** Triton's statuses. 400 is several codes; INVALID_ARG is what it mostly is. 403 is what gRPC answers with UNAVAILABLE. */
const codes: Readonly<Partial<Record<number, TritonErrorCode>>> = {
  400: 'INVALID_ARG',
  403: 'UNAVAILABLE',
  404: 'NOT_FOUND',
  500: 'INTERNAL',
  501: 'UNSUPPORTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'UNAVAILABLE',
};

/** Bodies up to this size are copied into one piece: several pieces are as many calls of the system. */
const inOnePiece = 65_536;

/** Waits before a second try, in milliseconds; each one more waits twice as long. */
const firstPauseMs = 50;

/** An answer whose status is not 200. */
export interface Refusal {
  readonly status: number;
  readonly error: TritonError;
}

function refusalOf(status: number, body: Uint8Array, model: string | undefined): Refusal {
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  let message = text.trim() === '' ? `the server answered with status ${status}` : text.slice(0, 4096);
  try {
    const { error }: { readonly error?: unknown } = JSON.parse(text) as object;
    if (typeof error === 'string') message = error;
  } catch {
    // It is no JSON: its text is the message.
  }
  return { status, error: new TritonError(codes[status] ?? 'UNKNOWN', message, { model }) };
}

/** See the head of this file. */
export class Connection {
  readonly #url: URL;
  readonly #options: CheckedConnectOptions;
  readonly #agent: HttpAgent;
  /** Name and password of the address. */
  readonly #auth: string | undefined;
  readonly #send: typeof httpRequest;
  /** Those that have no answer yet. */
  readonly #underWay: Set<() => void> = new Set();
  readonly #signals: Signals = new Signals();
  #idle: (() => void) | undefined;
  #closed = false;

  constructor(url: URL, options: CheckedConnectOptions) {
    this.#url = url;
    this.#options = options;
    const { username, password } = url;
    this.#auth =
      username === '' ? undefined : `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    const kept = { keepAlive: true, maxSockets: options.maxConnections };
    const secure = url.protocol === 'https:';
    this.#agent = secure ? new HttpsAgent({ ...kept, ...options.tls }) : new HttpAgent(kept);
    this.#send = secure ? httpsRequest : httpRequest;
  }

  /**
   * Makes a call.
   *
   * @throws {@link TritonError} The server's error by its status; UNAVAILABLE without a connection, in time or at all, and
   *   after {@link close}; CANCELLED by the call's signal.
   */
  async call(call: Call): Promise<Answer> {
    const outcome = await this.ask(call);
    if ('error' in outcome) throw outcome.error;
    return outcome;
  }

  /** The same for calls whose refusal is an answer, too. */
  async ask(call: Call): Promise<Answer | Refusal> {
    const attempts = call.reads ? this.#options.retries + 1 : 1;
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#once(call);
      } catch (error) {
        if (attempt >= attempts || this.#closed || !isBroken(error)) throw error;
        await sleep(firstPauseMs * 2 ** (attempt - 1), undefined, { signal: call.signal }).catch(
          () => undefined, // The next try says that it was cancelled.
        );
      }
    }
  }

  /**
   * Waits for something that a call needs first, such as an answer that several calls wait for.
   *
   * @throws {@link TritonError} CANCELLED by the call's signal; then what is waited for goes on.
   */
  unlessCancelled<T>(waited: Promise<T>, signal: AbortSignal | undefined, model: string): Promise<T> {
    if (signal === undefined) return waited;
    return new Promise((resolve, reject) => {
      const cancel = (): void => {
        reject(cancelled(signal, model));
      };
      if (signal.aborted) cancel();
      else this.#signals.add(signal, cancel);
      waited.then(resolve, reject).finally(() => {
        this.#signals.remove(signal, cancel);
      });
    });
  }

  /**
   * Refuses new calls, lets those under way end, then cancels the rest and closes all connections.
   *
   * @param timeoutMs - How long they have.
   */
  async close(timeoutMs: number): Promise<void> {
    this.#closed = true;
    if (this.#underWay.size > 0 && timeoutMs > 0) {
      const stop = new AbortController();
      const ended = new Promise<void>((resolve) => (this.#idle = resolve));
      await Promise.race([
        ended,
        sleep(Math.min(timeoutMs, 2 ** 31 - 1), undefined, { signal: stop.signal }).catch(() => undefined),
      ]);
      stop.abort();
    }
    for (const cancel of [...this.#underWay]) cancel();
    this.#agent.destroy();
  }

  #once({ method, path, headers, body, signal, model }: Call): Promise<Answer | Refusal> {
    const about = { model };
    if (this.#closed)
      return Promise.reject(new TritonError('UNAVAILABLE', 'the connection to the server is closed', about));
    if (signal?.aborted === true) return Promise.reject(cancelled(signal, model));
    const { timeoutMs } = this.#options;
    return new Promise((resolve, reject) => {
      const length = body?.reduce((sum, part) => sum + part.byteLength, 0);
      const sent = this.#send({
        agent: this.#agent,
        protocol: this.#url.protocol,
        hostname: this.#url.hostname.replace(/^\[(.*)\]$/, '$1'),
        port: this.#url.port,
        path: `${this.#url.pathname.replace(/\/$/, '')}${path}`,
        method,
        ...(this.#auth !== undefined && { auth: this.#auth }),
        headers: {
          ...this.#options.headers,
          ...headers,
          ...(length !== undefined && { 'Content-Length': String(length) }),
        },
      });
      const done = (): void => {
        clearTimeout(timer);
        if (signal !== undefined) this.#signals.remove(signal, onAbort);
        this.#underWay.delete(cancel);
        if (this.#underWay.size === 0) this.#idle?.();
      };
      const fail = (error: TritonError): void => {
        done();
        reject(error);
        sent.destroy();
      };
      const onAbort = (): void => {
        fail(cancelled(signal, model));
      };
      const cancel = (): void => {
        fail(new TritonError('CANCELLED', 'the connection to the server was closed', about));
      };
      const timer =
        timeoutMs === 0
          ? undefined
          : setTimeout(() => {
              fail(
                new TritonError(
                  'UNAVAILABLE',
                  `${this.#url.origin} did not answer within ${timeoutMs} ms`,
                  about,
                ),
              );
            }, timeoutMs);
      this.#underWay.add(cancel);
      if (signal !== undefined) this.#signals.add(signal, onAbort);
      const broken = (cause: Error): void => {
        fail(new Broken(`no answer from ${this.#url.origin}: ${causeText(cause)}`, { ...about, cause }));
      };
      sent.on('error', broken);
      sent.on('response', (response) => {
        collect(response, (whole) => {
          done();
          const status = response.statusCode ?? 0;
          resolve(
            status === 200 ? { headers: response.headers, body: whole } : refusalOf(status, whole, model),
          );
        });
        response.on('error', broken);
      });
      if (length !== undefined && length <= inOnePiece) sent.end(joined(body ?? []));
      else {
        for (const part of body ?? []) sent.write(part);
        sent.end();
      }
    });
  }
}

/** There was no connection, or it broke. */
class Broken extends TritonError {
  constructor(message: string, options: ConstructorParameters<typeof TritonError>[2]) {
    super('UNAVAILABLE', message, options);
  }
}

function isBroken(error: unknown): boolean {
  return error instanceof TritonError && error.constructor === Broken;
}

/** An AggregateError, of a host with several addresses, has no message. */
function causeText(cause: Error): string {
  const { code }: { readonly code?: unknown } = cause as { code?: unknown };
  return cause.message === '' ? (typeof code === 'string' ? code : cause.name) : cause.message;
}

function cancelled(signal: AbortSignal | undefined, model: string | undefined): TritonError {
  const about = model === undefined ? 'the call' : `model '${model}': the request`;
  return new TritonError('CANCELLED', `${about} was cancelled by options.signal`, {
    model,
    cause: signal?.reason,
  });
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const [first] = parts;
  return parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
}

/** Collects a body in memory of its own. */
function collect(response: IncomingMessage, done: (body: Uint8Array<ArrayBuffer>) => void): void {
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    size += chunk.length;
  });
  response.on('end', () => {
    const whole = new Uint8Array(size);
    let at = 0;
    for (const chunk of chunks) {
      whole.set(chunk, at);
      at += chunk.length;
    }
    done(whole);
  });
}

/** Makes calls over gRPC: time limits, signals, retries, and errors by their status. */

import type { OutgoingHttpHeaders } from 'node:http2';
import { TritonError, type TritonErrorCode, type TritonErrorReason } from '../../errors.js';
import { status } from '../../protocol/grpc/status.js';
import type { Calls } from '../calls.js';
import { alreadyClosed, Broken, cancelled, closedUnder, tooLate } from '../failures.js';
import type { CheckedConnectOptions } from '../options.js';
import { Call, type Outcome } from './call.js';
import { Sessions } from './sessions.js';
import { clearTimeout, setTimeout } from '../../timers.js';

/** The description of a call. */
export interface Asked {
  /** The name of the RPC. */
  readonly rpc: string;
  /** The message with its prefix, in pieces that are written to the socket without a copy. */
  readonly pieces: readonly Uint8Array[];
  /** Whether the call only reads, so that it may be retried. */
  readonly reads: boolean;
  readonly signal?: AbortSignal | undefined;
  /** The time limit of this call, instead of the connection's; 0: none. */
  readonly timeoutMs?: number | undefined;
  /** The model concerned, for errors. */
  readonly model?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Whether an error of the server counts as an (empty) answer, too. */
  readonly anyStatus?: boolean | undefined;
}

/** Receives the messages of a stream. The last call is one of `end` or `fail`, once. */
export interface MessageTaker {
  message(bytes: Buffer): void;
  end(): void;
  fail(error: TritonError): void;
}

/** A stream in progress. */
export interface OpenedStream {
  pause(paused: boolean): void;
  cancel(): void;
}

/** Error codes by gRPC status. Statuses without a counterpart in Triton's codes have the closest one. */
const codes: Readonly<Partial<Record<number, TritonErrorCode>>> = {
  1: 'CANCELLED',
  2: 'UNKNOWN',
  3: 'INVALID_ARG',
  4: 'UNAVAILABLE', // DEADLINE_EXCEEDED
  5: 'NOT_FOUND',
  6: 'ALREADY_EXISTS',
  7: 'UNAVAILABLE', // PERMISSION_DENIED
  8: 'INVALID_ARG', // RESOURCE_EXHAUSTED: a size limit or a quota; an immediate retry does not help
  12: 'UNSUPPORTED',
  13: 'INTERNAL',
  14: 'UNAVAILABLE',
  16: 'UNAVAILABLE', // UNAUTHENTICATED
};

/** Errors of calls that the server reports it has not processed. Any such call may be retried. */
const untouched = new WeakSet<Broken>();

/** Errors that servers answered with. */
const answers = new WeakSet<TritonError>();

/**
 * The reasons of statuses that imply one. They are used if the server gives no reason, as servers of other
 * software.
 */
const reasons: Readonly<Partial<Record<number, TritonErrorReason>>> = {
  4: 'TIMED_OUT',
  7: 'NOT_ALLOWED',
  16: 'NOT_ALLOWED',
};

function answerError(
  code: TritonErrorCode,
  message: string,
  model: string | undefined,
  reason?: TritonErrorReason,
): TritonError {
  const error = new TritonError(code, message, { model, reason });
  answers.add(error);
  return error;
}

/** Whether a call may be retried after an error. */
function mayRepeat({ reads }: Asked): (error: Broken) => boolean {
  return (error) => reads || untouched.has(error);
}

/** The longest `grpc-timeout` in milliseconds: it has at most 8 digits. */
const longestTimeoutMs = 99_999_999;

function timeoutText(ms: number): string {
  return ms <= longestTimeoutMs ? `${Math.ceil(ms)}m` : `${Math.ceil(ms / 1000)}S`;
}

/** See the head of this file. */
export class Channel {
  readonly #origin: string;
  readonly #headers: OutgoingHttpHeaders;
  readonly #timeoutMs: number;
  readonly #most: number;
  readonly #sessions: Sessions;
  readonly #calls: Calls;

  constructor(url: URL, options: CheckedConnectOptions, calls: Calls) {
    this.#calls = calls;
    this.#timeoutMs = options.timeoutMs;
    this.#most = options.maxResponseBytes;
    const isSecure = url.protocol === 'grpcs:';
    const authority = `${url.hostname}:${url.port === '' ? (isSecure ? 443 : 8001) : url.port}`;
    this.#origin = `${url.protocol}//${authority}`;
    const { username, password } = url;
    const secret = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    this.#headers = {
      ...options.headers,
      ...(username !== '' && { authorization: `Basic ${Buffer.from(secret).toString('base64')}` }),
      ':method': 'POST',
      'content-type': 'application/grpc',
      te: 'trailers',
      'user-agent': 'tritonts',
      'grpc-accept-encoding': 'identity',
    };
    this.#sessions = new Sessions(`${isSecure ? 'https' : 'http'}://${authority}`, options);
  }

  /**
   * Makes a call that has one answer.
   *
   * @throws {@link TritonError} The server's error by its status; UNAVAILABLE if there is no connection, if the
   *   answer is late, or after the connection was closed; CANCELLED by the call's signal.
   */
  async ask(asked: Asked): Promise<Buffer> {
    try {
      return await this.#calls.retrying(() => this.#once(asked), mayRepeat(asked), asked.signal);
    } catch (error) {
      if (asked.anyStatus === true && error instanceof TritonError && Channel.isAnswer(error)) return nothing;
      throw error;
    }
  }

  /** Whether the error was the server's answer. */
  static isAnswer(error: TritonError): boolean {
    return answers.has(error);
  }

  #once(asked: Asked): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let answer: Buffer | undefined;
      let count = 0;
      this.#begin(asked, true, {
        message: (bytes) => {
          count++;
          answer = bytes;
        },
        end: () => {
          if (answer !== undefined && count === 1) resolve(answer);
          else {
            const why = `the server answered with ${count} messages to a call that has one`;
            reject(answerError('INTERNAL', why, asked.model));
          }
        },
        fail: reject,
      });
    });
  }

  /**
   * Makes a call that has any number of answers. `timeoutMs` limits the time until each answer. A call that the
   * server has not processed is retried, as other calls are.
   */
  open(asked: Asked, taker: MessageTaker): OpenedStream {
    let opened: OpenedStream | undefined;
    let left = false;
    let paused = false;
    const once = (): Promise<void> =>
      new Promise((resolve, reject) => {
        opened = this.#begin(asked, false, {
          message: (bytes) => {
            taker.message(bytes);
          },
          end: resolve,
          fail: reject,
        });
        if (left) opened.cancel();
        else if (paused) opened.pause(true);
      });
    this.#calls.retrying(once, mayRepeat(asked), asked.signal).then(
      () => {
        if (!left) taker.end();
      },
      (error: unknown) => {
        // A call fails with no other type of error.
        if (!left) taker.fail(error as TritonError);
      },
    );
    return {
      pause: (value) => {
        paused = value;
        opened?.pause(value);
      },
      cancel: () => {
        left = true;
        opened?.cancel();
      },
    };
  }

  /** Closes all connections. */
  destroy(): void {
    this.#sessions.destroy();
  }

  /** @param whole - Whether the time limit applies to the whole call. If not, it restarts with each message. */
  #begin(
    { rpc, pieces, signal, model, metadata, timeoutMs }: Asked,
    whole: boolean,
    taker: MessageTaker,
  ): OpenedStream {
    const none = { pause: ignore, cancel: ignore };
    if (this.#calls.closed) {
      taker.fail(alreadyClosed(model));
      return none;
    }
    if (signal?.aborted === true) {
      taker.fail(cancelled(signal, model));
      return none;
    }
    const session = this.#sessions.take();
    const limit = timeoutMs ?? this.#timeoutMs;
    let began = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const stop = (): void => {
      clearTimeout(timer);
      if (signal !== undefined) this.#calls.signals.remove(signal, onAbort);
      this.#calls.ended(onClose);
      session.ended();
    };
    let isDone = false;
    const fail = (error: TritonError): void => {
      if (isDone) return;
      isDone = true;
      stop();
      call.cancel();
      taker.fail(error);
    };
    const onAbort = (): void => {
      fail(cancelled(signal, model));
    };
    const onClose = (): void => {
      fail(closedUnder(model));
    };
    const onLate = (): void => {
      session.doubt(began);
      fail(tooLate(this.#origin, limit, model));
    };
    const startTimer = (): void => {
      if (limit > 0) timer = setTimeout(onLate, limit);
    };
    const stream = session.request({
      ...this.#headers,
      ':path': `/inference.GRPCInferenceService/${rpc}`,
      ...(whole && limit > 0 && { 'grpc-timeout': timeoutText(limit) }),
      ...metadata,
    });
    const call = new Call(stream, pieces, this.#most, {
      message: (bytes) => {
        session.received();
        if (!whole && timer !== undefined) {
          began = performance.now();
          timer.refresh();
        }
        taker.message(bytes);
      },
      done: (outcome) => {
        if (isDone) return;
        isDone = true;
        stop();
        const error = this.#errorOf(outcome, model);
        if (error === undefined) taker.end();
        else taker.fail(error);
        if ('status' in outcome) session.received();
        else if (outcome.untouched) session.refused();
      },
      reset: () => {
        session.reset();
      },
    });
    this.#calls.began(onClose);
    if (signal !== undefined) this.#calls.signals.add(signal, onAbort);
    startTimer();
    return {
      pause: (paused) => {
        if (isDone) return;
        // While paused, no message is expected.
        clearTimeout(timer);
        if (!paused) {
          began = performance.now();
          startTimer();
        }
        call.pause(paused);
      },
      cancel: () => {
        if (isDone) return;
        isDone = true;
        stop();
        call.cancel();
      },
    };
  }

  #errorOf(outcome: Outcome, model: string | undefined): TritonError | undefined {
    if ('broken' in outcome) {
      const { broken, cause } = outcome;
      const error = new Broken(`no answer from ${this.#origin}: ${broken}`, { model, cause });
      if (outcome.untouched) untouched.add(error);
      return error;
    }
    if (outcome.status === status.ok) return undefined;
    const message =
      outcome.message === '' ? `the server answered with status ${outcome.status}` : outcome.message;
    return answerError(
      codes[outcome.status] ?? 'UNKNOWN',
      message,
      model,
      outcome.reason ?? reasons[outcome.status],
    );
  }
}

const nothing = Buffer.alloc(0);

function ignore(): void {
  // There is no call.
}

/**
 * The health service: https://github.com/grpc/grpc/blob/master/doc/health-checking.md. As in Triton, it reports the
 * server's readiness.
 */

import type { InferenceService } from '../service/service.js';
import { Messages } from '../../protocol/protobuf/messages.js';
import type { Rpc } from './rpc.js';
import { framed, OneMessage } from './unary.js';
import { clearInterval, setInterval } from '../../timers.js';

/** The most fields of a request. It has one known field, but unknown fields count, too. */
const mostFields = 256;

const messages = new Messages('grpc.health.v1', mostFields);

/** How often Watch reads the server's state. */
const watchMs = 500;

function isServing(service: InferenceService): boolean {
  try {
    return service.ready();
  } catch {
    return false; // The server is closing.
  }
}

function answerOf(serving: boolean): ReturnType<typeof framed> {
  return framed(messages.write('HealthCheckResponse', { status: serving ? 'SERVING' : 'NOT_SERVING' }));
}

/** The unary call Check. */
export class HealthCheck extends OneMessage {
  readonly #rpc: Rpc;
  readonly #service: InferenceService;

  constructor(rpc: Rpc, service: InferenceService) {
    super();
    this.#rpc = rpc;
    this.#service = service;
  }

  protected override one(bytes: Buffer): void {
    messages.read('HealthCheckRequest', bytes);
    this.#rpc.finish(answerOf(isServing(this.#service)));
  }
}

/**
 * The streaming call Watch. It sends the current state, and then every change until the client leaves or the endpoint closes, which
 * it would delay otherwise.
 */
export class HealthWatch extends OneMessage {
  readonly #rpc: Rpc;
  readonly #service: InferenceService;
  /** Throws if the endpoint closes. */
  readonly #checkOpen: () => void;
  #timer: NodeJS.Timeout | undefined;
  #last: boolean | undefined;

  constructor(rpc: Rpc, service: InferenceService, checkOpen: () => void) {
    super();
    this.#rpc = rpc;
    this.#service = service;
    this.#checkOpen = checkOpen;
  }

  protected override one(bytes: Buffer): void {
    messages.read('HealthCheckRequest', bytes);
    this.#look();
    this.#timer = setInterval(() => {
      this.#look();
    }, watchMs).unref();
  }

  /** The endpoint closes. */
  drain(): void {
    if (this.#timer !== undefined) this.#look();
  }

  override gone(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    try {
      this.#checkOpen();
    } catch (error) {
      this.gone();
      this.#rpc.fail(error);
      return;
    }
    const serving = isServing(this.#service);
    if (serving === this.#last || this.#rpc.congested) return;
    this.#last = serving;
    this.#rpc.send(answerOf(serving));
  }
}

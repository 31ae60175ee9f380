/** Takes finished traces from the engine, and makes spans of them. */

import type { NativeTracing } from '../../addon/native/trace.js';
import { thrownText } from '../../thrown-text.js';
import { readTraces } from './finished-trace.js';
import type { SpanSink } from './span-sink.js';
import { SpanMaker } from './spans.js';

/** How often traces are taken, in milliseconds. */
const intervalMs = 200;

/** See the head of this file. It does not keep the process, nor a server that the program has dropped. */
export class SpanPump {
  readonly #native: NativeTracing;
  readonly #sink: SpanSink;
  readonly #maker: SpanMaker;
  readonly #timer: NodeJS.Timeout;

  /** @param server - The server; when it is gone, nothing is taken any more. */
  constructor(server: object, native: NativeTracing, sink: SpanSink) {
    this.#native = native;
    this.#sink = sink;
    this.#maker = new SpanMaker(sink.api, sink.tracer);
    const owner = new WeakRef(server);
    this.#timer = setInterval(() => {
      if (owner.deref() === undefined) clearInterval(this.#timer);
      else this.#take();
    }, intervalMs);
    this.#timer.unref();
  }

  /** Takes the last traces, and sends their spans. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#take();
    await this.#sink.close();
  }

  #take(): void {
    try {
      this.#maker.take(readTraces(this.#native.takeTraces()));
    } catch (error) {
      // The program's own provider may throw.
      this.#sink.log.warn(`a trace was lost: ${thrownText(error)}`, {});
    }
  }
}

/** Takes finished traces from the engine, and makes spans of them. */

import type { NativeTracing } from '../../addon/native/trace.js';
import { thrownText } from '../../thrown-text.js';
import { clearTimeout, setTimeout } from '../../timers.js';
import { readTraces, type FinishedTrace } from './finished-trace.js';
import type { SpanSink } from './span-sink.js';
import { SpanMaker } from './spans.js';

/** How often it is looked whether there are traces, in milliseconds. */
const intervalMs = 200;
/** How soon the next ones are taken while there are more. Meanwhile spans are sent. */
const nextMs = 10;
/** How many bytes of traces are taken together: about a hundred traces. The event loop waits for that long. */
const mostBytes = 65_536;

/** See the head of this file. It does not keep the process, nor a server that the program has dropped. */
export class SpanPump {
  readonly #owner: WeakRef<object>;
  readonly #native: NativeTracing;
  readonly #sink: SpanSink;
  readonly #maker: SpanMaker;
  #timer: NodeJS.Timeout | undefined;
  #failing = false;

  /** @param server - The server; when it is gone, nothing is taken any more. */
  constructor(server: object, native: NativeTracing, sink: SpanSink) {
    this.#owner = new WeakRef(server);
    this.#native = native;
    this.#sink = sink;
    this.#maker = new SpanMaker(sink.api, sink.tracer);
    this.#wait(intervalMs);
  }

  /** Takes the last traces, and sends their spans. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    while (this.#take()) await new Promise((resolve) => setTimeout(resolve, nextMs));
    await this.#sink.close();
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => {
      if (this.#owner.deref() !== undefined) this.#wait(this.#take() ? nextMs : intervalMs);
    }, ms);
    this.#timer.unref();
  }

  /** Whether there may be more. */
  #take(): boolean {
    const text = this.#native.takeTraces(mostBytes);
    if (text === '') return false;
    for (const trace of readTraces(text)) this.#make(trace);
    return true;
  }

  #make(trace: FinishedTrace): void {
    try {
      this.#maker.take([trace]);
      this.#failing = false;
    } catch (error) {
      // The program's own provider may throw. It is told of once.
      if (!this.#failing) this.#sink.log.warn(`a trace was lost: ${thrownText(error)}`, {});
      this.#failing = true;
    }
  }
}

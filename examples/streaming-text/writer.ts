/**
 * Writes a line letter by letter: an iterative model. Each round asks the reciter for the next letter of all requests
 * together, sends the letters, and runs the requests again.
 */
import type { InferResult, ModelContext, ModelRequest, Rescheduled, Results } from '../../src/index.js';
import { endOfLine } from './reciter.js';

type Reciter = ReturnType<ModelContext['server']['model']>;

export default class Writer {
  #reciter: Reciter | undefined;

  initialize({ server }: ModelContext): void {
    this.#reciter = server.model('reciter');
  }

  execute(requests: readonly ModelRequest[]): Results {
    // Asked at once, so that the letters of all requests are one batch.
    const asked = requests.map((request) => this.#ask(request, false));
    return requests.map((request, i) => this.#write(request, asked[i]));
  }

  /** Asks for the next letter. The reciter keeps the place in the line as the state of the request's sequence. */
  #ask(request: ModelRequest, end: boolean): Promise<InferResult> | undefined {
    const { sequence, inputs } = request;
    if (sequence === undefined) return undefined;
    const asked = this.#reciter?.infer(
      { line: inputs['line'] },
      { parent: request, sequence: { id: sequence.id, start: sequence.start, end } },
    );
    // It is awaited when the request's generator runs, which may be later.
    asked?.catch(() => undefined);
    return asked;
  }

  async *#write(
    request: ModelRequest,
    asked: Promise<InferResult> | undefined,
  ): AsyncGenerator<{ letter: string[][] }, Rescheduled | undefined> {
    const code = Number((await asked)?.outputs['letter']?.as('INT64').data[0] ?? endOfLine);
    if (code !== endOfLine) {
      yield { letter: [[String.fromCodePoint(code)]] };
      return request.reschedule();
    }
    // Frees the reciter's slot.
    await this.#ask(request, true);
    return undefined;
  }
}

/**
 * The same as an iterative model: each round is one batch. It asks for the next letter of all texts together, sends the
 * letters, and runs the requests again.
 */
import type { InferResult, ModelContext, ModelRequest, Rescheduled, Results } from '../../src/index.js';
import { Writing, type Written } from './writing.js';

type Letters = ReturnType<ModelContext['server']['model']>;

/** How long a text waits for its next round at most. A round takes some milliseconds. */
const longestWaitMs = 60_000;

export default class IterativeWriter {
  #letters: Letters | undefined;
  /** The texts that are being written, by the sequence of their request, in the order of their last rounds. */
  readonly #writings: Map<unknown, { readonly writing: Writing; readonly round: number }> = new Map();

  initialize({ server }: ModelContext): void {
    this.#letters = server.model('letters');
  }

  execute(requests: readonly ModelRequest[]): Results {
    this.#forgetLeft();
    const rounds = requests.map((request) => {
      const writing = this.#take(request);
      // Asked at once, so that the letters of all requests are one batch.
      const asked = this.#letters?.infer(writing.question, { parent: request });
      // It is awaited when the request's generator runs, which may be later.
      asked?.catch(() => undefined);
      return [request, writing, asked] as const;
    });
    return rounds.map(([request, writing, asked]) => this.#write(request, writing, asked));
  }

  /** The text of a request, which is last in the map from now on. */
  #take(request: ModelRequest): Writing {
    const { sequence } = request;
    if (sequence === undefined) throw new Error('expected a request of a sequence');
    // A slot is used again for another sequence.
    const writing = sequence.start ? new Writing(request) : this.#writings.get(sequence.id)?.writing;
    if (writing === undefined) throw new Error('expected a request whose text was begun');
    this.#writings.delete(sequence.id);
    this.#writings.set(sequence.id, { writing, round: performance.now() });
    return writing;
  }

  /** Forgets texts whose clients have left between two rounds: there is no next one that would tell. */
  #forgetLeft(): void {
    for (const [id, { round }] of this.#writings) {
      if (performance.now() - round < longestWaitMs) return;
      this.#writings.delete(id);
    }
  }

  /** Forgets a text. The sequence's id may be that of a later one already. */
  #forget({ sequence }: ModelRequest, writing: Writing): void {
    if (this.#writings.get(sequence?.id)?.writing === writing) this.#writings.delete(sequence?.id);
  }

  async *#write(
    request: ModelRequest,
    writing: Writing,
    asked: Promise<InferResult> | undefined,
  ): AsyncGenerator<Written, Rescheduled | undefined> {
    let goesOn = false;
    try {
      const { outputs } = (await asked) ?? {};
      writing.add(outputs?.['probabilities']?.as('FP32').data ?? new Float32Array(1));
      if (writing.stream) yield writing.response(true);
      goesOn = !writing.done;
      if (goesOn) return request.reschedule();
      if (!writing.stream) yield writing.response(false);
      return undefined;
    } finally {
      // The generator is ended here if the client has left.
      if (!goesOn) this.#forget(request, writing);
    }
  }
}

/** A decoupled model that writes text, letter by letter: each request runs until its text is written. */
import type { ModelContext, ModelRequest, Results } from '../../src/index.js';
import { Writing, type Written } from './writing.js';

type Letters = ReturnType<ModelContext['server']['model']>;

export default class Writer {
  #letters: Letters | undefined;

  initialize({ server }: ModelContext): void {
    this.#letters = server.model('letters');
  }

  execute(requests: readonly ModelRequest[]): Results {
    return requests.map((request) => this.#write(request));
  }

  async *#write(request: ModelRequest): AsyncGenerator<Written, void> {
    const writing = new Writing(request);
    while (!writing.done) {
      const { outputs } = (await this.#letters?.infer(writing.question, { parent: request })) ?? {};
      writing.add(outputs?.['probabilities']?.as('FP32').data ?? new Float32Array(1));
      // The generator is ended here if the client leaves, or has what it wants.
      if (writing.stream) yield writing.response(true);
    }
    if (!writing.stream) yield writing.response(false);
  }
}

/** The list of models. */

import type { InferenceService } from '../service/service.js';

/** A model as the protocol has it. */
interface ModelObject {
  readonly id: string;
  readonly created: number;
  readonly object: 'model';
  readonly owned_by: string;
}

/** See the head of this file. */
export class ModelList {
  readonly #service: InferenceService;
  /** When models were created is not known. As in Triton, it is the time at which the endpoint was opened. */
  readonly #created: number = Math.floor(Date.now() / 1000);

  constructor(service: InferenceService) {
    this.#service = service;
  }

  /** A model's object. */
  object(id: string): ModelObject {
    return { id, created: this.#created, object: 'model', owned_by: 'Triton Inference Server' };
  }

  /** The names of the models that are ready, also those that a request loads. */
  names(): string[] {
    return [...new Set(this.#service.index(true).map(({ name }) => name))].sort();
  }

  /** Whether a model is ready. */
  has(model: string): boolean {
    return this.#service.index(true).some(({ name }) => name === model);
  }

  /** The answer to a request for all models. */
  list(): object {
    return { object: 'list', data: this.names().map((name) => this.object(name)) };
  }
}

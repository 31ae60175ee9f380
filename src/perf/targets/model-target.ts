/** Sends requests by a model's own functions: in process, over gRPC, and over HTTP where outputs are read. */

import type { InferOptions, InferResult } from '../../api/results.js';
import type { RemoteInputs } from '../../client/shared-memory.js';
import type { RemoteInferOptions } from '../../client/types.js';
import { compareOutputs } from '../inputs/expected.js';
import type { Step } from '../inputs/step.js';
import type { Flight } from '../load/flight.js';
import type { Target } from './target.js';

/** The functions of a model, of this process or another one. */
export interface CalledModel {
  readonly name: string;
  infer(inputs: RemoteInputs, options?: RemoteInferOptions): Promise<Pick<InferResult, 'outputs'>>;
  stream(
    inputs: RemoteInputs,
    options?: RemoteInferOptions,
  ): AsyncIterableIterator<Pick<InferResult, 'outputs'>>;
}

/** See the head of this file. */
export class ModelTarget implements Target {
  readonly mostAtOnce: number;
  readonly #model: CalledModel;
  readonly #streaming: boolean;
  readonly #parameters: InferOptions['parameters'];
  readonly #open: Set<AsyncIterableIterator<unknown>> = new Set();

  /** @param streaming - Whether responses are read as a stream. */
  constructor(
    model: CalledModel,
    streaming: boolean,
    parameters: Readonly<Record<string, string | number | bigint | boolean>>,
    mostAtOnce: number,
  ) {
    this.#model = model;
    this.#streaming = streaming;
    this.#parameters = Object.keys(parameters).length === 0 ? undefined : parameters;
    this.mostAtOnce = mostAtOnce;
  }

  prepare(): void {
    // The model's functions take the steps as they are.
  }

  send(flight: Flight): void {
    const { step, sequence } = flight;
    const options =
      sequence === undefined && this.#parameters === undefined && step.into === undefined
        ? undefined
        : { ...(sequence !== undefined && { sequence }), parameters: this.#parameters, into: step.into };
    flight.sending();
    if (this.#streaming) {
      void this.#read(flight, step, options);
      return;
    }
    const answer = this.#model.infer(step.inputs, options);
    flight.writtenMs = performance.now();
    answer.then(
      ({ outputs }) => {
        flight.land(step.expected && compareOutputs(this.#model.name, step.expected, outputs));
      },
      (error: unknown) => {
        flight.land(error);
      },
    );
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#open].map(async (stream) => {
        await stream.return?.(undefined);
      }),
    );
  }

  async #read(flight: Flight, step: Step, options: RemoteInferOptions | undefined): Promise<void> {
    let error: unknown;
    const stream = this.#model.stream(step.inputs, options);
    flight.writtenMs = performance.now();
    this.#open.add(stream);
    let count = 0;
    try {
      for await (const { outputs } of stream) {
        flight.responsesMs.push(performance.now());
        // The outputs of a file are those of the first response.
        if (count++ === 0 && step.expected !== undefined)
          error = compareOutputs(this.#model.name, step.expected, outputs);
      }
      if (count === 0 && step.expected !== undefined)
        error = compareOutputs(this.#model.name, step.expected, {});
    } catch (thrown) {
      error = thrown;
    }
    this.#open.delete(stream);
    flight.land(error);
  }
}

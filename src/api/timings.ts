/** How a request's time was spent. */

/**
 * Times of the batch that a request ran in, in nanoseconds. Triton: the compute times of its statistics.
 *
 * @example
 * const { timings } = await model.infer({ image });
 * console.log(`${timings.batchSize} items, ${timings.computeInferNs / 1e6} ms`);
 */
export interface Timings {
  /** Rows of the batch: how many items ran together; 0 for a response from the response cache. */
  readonly batchSize: number;
  /** From the event-loop tick in which the request was made to the start of its batch. Triton: `queue`. */
  readonly queueNs: number;
  /** Gathering inputs. Triton: `compute_input`. */
  readonly computeInputNs: number;
  /** Running the model itself. Triton: `compute_infer`. */
  readonly computeInferNs: number;
  /** Distributing outputs. Triton: `compute_output`. */
  readonly computeOutputNs: number;
  /** Whether the response came from the response cache, or from the run of an equal request. */
  readonly cacheHit: boolean;
}

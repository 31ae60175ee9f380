/** The sequence of one request: as callers give it, and as models receive it. */

/**
 * The sequence that a request belongs to. Triton: the parameters `sequence_id`, `sequence_start` and
 * `sequence_end`.
 *
 * @example
 * await model.infer({ chunk }, { sequence: { id: 7, start: true } });
 * await model.infer({ chunk: last }, { sequence: { id: 7, end: true } });
 */
export interface RequestSequence {
  /**
   * The correlation id: an integer of up to 64 bits without a sign, or a text of up to 128 bytes of UTF-8. 0 and
   * the empty text are no id. A number is never equal to a text.
   */
  readonly id: number | bigint | string;
  /** Whether this is the first request of the sequence (default false). */
  readonly start?: boolean | undefined;
  /** Whether this is the last request of the sequence (default false). */
  readonly end?: boolean | undefined;
}

/** The sequence of a request, as a model receives it. */
export interface ReceivedSequence {
  /** The correlation id; 0n if the caller gave flags without an id. */
  readonly id: bigint | string;
  /** Whether this is the first request of the sequence. */
  readonly start: boolean;
  /** Whether this is the last request of the sequence. */
  readonly end: boolean;
}

/** What the engine knows of a sequence: the numbers of `SequenceFate` in `native/engine/scheduling/sequence_counts.h`. */

/** Nothing, or it ended long ago. */
export const sequenceUnknown = 0;
export const sequenceLive = 1;
/** It ended, because no request came for too long. */
export const sequenceIdled = 2;
/** It ended in another way. */
export const sequenceEnded = 3;

/**
 * Constants of the memory that JavaScript and the engine exchange. `native/engine/port/port_layout.h` defines
 * the same constants, and the records.
 */

/** Bytes of a slab of input memory. */
export const slabBytes: number = 1 << 20;
/** Ranges in slabs are aligned to this many bytes. */
export const slabUnit = 64;
/** 32-bit words of the submission area. */
export const submissionWords: number = 1 << 16;
/** Bytes of a page of responses. */
export const pageBytes: number = 256 << 10;
/** Inputs of a request whose total size is at most this go to a slab; larger inputs go to blocks. */
export const slabRangeBytes = 4096;
/** The maximum size of a range of a slab, in bytes. It has room for many requests of the same form. */
export const slabMostBytes: number = 64 << 10;

/** Index of the header word that counts changes of the table of models. */
export const headerEpoch = 0;
/** Index of the header word that is 1 once the server closes. */
export const headerClosed = 1;
/** Index of the first header word that lists new pages, as pairs of id and number of words. */
export const headerPages = 2;

/** Source of an input: a range of a slab. */
export const sourceSlab = 0;
/** Source of an input: a staged block. */
export const sourceBlock = 1;
/** Source of an input: a range of a registered region. */
export const sourceRegion = 2;

/** Kinds of parameters. */
export const parameterString = 0;
export const parameterInteger = 1;
export const parameterDouble = 2;
export const parameterFlag = 3;
/** Not a parameter for the model: the number of the batch that makes the requests. */
export const parameterCaller = 4;
/** Not a parameter for the model: the id of the trace that was begun for the request, a double. */
export const parameterTrace = 5;
/** Bit of the number of a record's requests: they have sequences. */
export const markedBit: number = 1 << 30;
/** Flags of a request's sequence. */
export const sequenceStart = 1;
export const sequenceEnd = 2;
/**
 * Bit of such a number: the calling batch was inferred, not given by the caller. Also in
 * `native/engine/request/call_graph.h`.
 */
export const guessedCaller: number = 1 << 30;

/** First word of a timing record. */
export const recordTimings = -1;
export const finalBit: number = 1 << 8;
export const limitedBit: number = 1 << 9;
export const ranBit: number = 1 << 10;
/** No version took the request. It may be sent again to another version; its blocks are still staged. */
export const unservedBit: number = 1 << 11;
/** The response counts as unread until JavaScript tells the port that it was read. */
export const countedBit: number = 1 << 12;
/** The request ended without a further response. */
export const emptyBit: number = 1 << 13;
/** The response has parameters. */
export const parametersBit: number = 1 << 14;
/**
 * In place of an output's offset, plus the upper word of its byte size: the output is in its region. No number
 * of a large output is as small.
 */
export const outputInRegion: number = -(2 ** 31);
/** Bytes that a counted response counts besides its outputs. Also in `native/engine/request/stream_count.h`. */
export const streamedBytes = 512;

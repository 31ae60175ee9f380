/**
 * The words that JavaScript and the engine exchange. `native/engine/port/port_layout.h` defines the same,
 * with the records.
 */

/** Bytes of a slab of input memory. */
export const slabBytes: number = 1 << 20;
/** Ranges of slabs begin at multiples of this many bytes. */
export const slabUnit = 64;
/** Words of the submission area. */
export const submissionWords: number = 1 << 16;
/** Bytes of a page of responses. */
export const pageBytes: number = 256 << 10;
/** Inputs that are together at most this long go to a slab; larger ones go to blocks. */
export const slabRangeBytes = 4096;
/** The most bytes of a range of a slab. That is room for many alike requests. */
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

/** Kinds of parameters. */
export const parameterString = 0;
export const parameterInteger = 1;
export const parameterDouble = 2;
export const parameterFlag = 3;
/** No parameter of the model's: the number of the batch that makes the requests. */
export const parameterCaller = 4;
/** In such a number: that its batch makes them was not said. `native/engine/request/call_graph.h` has the same. */
export const guessedCaller: number = 1 << 30;

/** First word of a timing record. */
export const recordTimings = -1;
export const finalBit: number = 1 << 8;
export const limitedBit: number = 1 << 9;
export const ranBit: number = 1 << 10;
/** No version took the request. It may be sent again, to another version; its blocks are still staged. */
export const unservedBit: number = 1 << 11;
/** The response counts as unread until the port was told that it was read. */
export const countedBit: number = 1 << 12;
/** The request ended without a further response. */
export const emptyBit: number = 1 << 13;
/** What a counted response counts besides its outputs. `native/engine/request/stream_count.h` has the same. */
export const streamedBytes = 512;

/** The words that JavaScript and the engine exchange: `native/engine/port/port_layout.h` says the same, with the records. */

/** Bytes of a slab of input memory. */
export const slabBytes: number = 1 << 20;
/** Ranges of slabs begin at multiples of this many bytes. */
export const slabUnit = 64;
/** Words of the submission area. */
export const submissionWords: number = 1 << 16;
/** Bytes of a page of finished requests. */
export const pageBytes: number = 256 << 10;
/** Inputs of a request that are together at most this long go to a slab, larger ones to blocks. */
export const slabRangeBytes = 4096;
/** A range of a slab is at most this long: room for many requests that are alike. */
export const slabMostBytes: number = 64 << 10;

/** Index of the header word that counts changes of the table of models. */
export const headerEpoch = 0;
/** Index of the header word that is 1 once the server closes. */
export const headerClosed = 1;
/** Index of the first header word of the pages that were just given: pairs of id and words. */
export const headerPages = 2;

/** Source of an input: a range of a slab. */
export const sourceSlab = 0;
/** Source of an input: a staged block. */
export const sourceBlock = 1;

/** First word of a timing record. */
export const recordTimings = -1;
export const finalBit: number = 1 << 8;
export const limitedBit: number = 1 << 9;
export const ranBit: number = 1 << 10;
/** The version did not take the request: it may be sent again, to another one; its blocks are still staged. */
export const unservedBit: number = 1 << 11;

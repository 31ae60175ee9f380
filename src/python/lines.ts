/** Reads the output of a process line by line, without blocking the event loop. */

import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { setImmediate } from '../timers.js';

/** How long lines of all streams are taken in one turn of the event loop, in milliseconds. */
const sliceMs = 1;
/** The least number of lines taken from each stream in a turn, so that no stream starves. */
const leastLines = 16;

/** The time at which taking lines ends in this turn; undefined: no line was taken in this turn. */
let turnEnd: number | undefined;

function endOfTurn(): number {
  if (turnEnd === undefined) {
    turnEnd = performance.now() + sliceMs;
    setImmediate(() => (turnEnd = undefined)).unref();
  }
  return turnEnd;
}

/** Takes the lines of a stream. */
export interface LineTaker {
  readonly take: (line: string) => void;
  /** The longest line, in characters. Longer lines are passed to `tooLong` in pieces. */
  readonly longest: number;
  readonly tooLong: (piece: string) => void;
  /**
   * Called after each line. If it returns a promise, no line is taken and the stream is not read until it resolves.
   */
  readonly room?: () => Promise<void> | undefined;
}

/**
 * Passes each line of a stream to `take`, also an unterminated last line. Lines are taken for a millisecond in each
 * turn of the event loop. A stream is paused until its lines were taken, so that a process that writes faster
 * blocks. Resolves when the last line was taken.
 */
export function readLines(stream: Readable, { take, longest, tooLong, room }: LineTaker): Promise<void> {
  const decoder = new StringDecoder('utf8');
  // The parts of an incomplete line.
  let parts: string[] = [];
  let size = 0;
  /** Resolves when the taker has room; undefined: it has room now. */
  let full: Promise<void> | undefined;
  const append = (text: string): void => {
    parts.push(text);
    size += text.length;
    if (size > longest) flush(tooLong);
  };
  const flush = (to: (text: string) => void): void => {
    const text = parts.length === 1 ? (parts[0] ?? '') : parts.join('');
    parts = [];
    size = 0;
    to(text);
  };
  /**
   * Takes lines from an offset on. Returns the offset where it stopped; undefined: all complete lines were taken.
   */
  const slice = (text: string, from: number): number | undefined => {
    const end = endOfTurn();
    let begin = from;
    let lines = 0;
    for (let next = text.indexOf('\n', begin); next >= 0; next = text.indexOf('\n', begin)) {
      parts.push(text.slice(begin, next));
      flush(take);
      begin = next + 1;
      full = room?.();
      if (full !== undefined) return begin;
      if (++lines >= leastLines && performance.now() >= end) return begin;
    }
    if (begin < text.length) append(text.slice(begin));
    return undefined;
  };
  return new Promise((resolve) => {
    let waits = false;
    let ended = false;
    const finish = (): void => {
      const rest = decoder.end();
      if (rest !== '') parts.push(rest);
      if (parts.length > 0) flush(take);
      resolve();
    };
    const takeFrom = (text: string, from: number): void => {
      const stopped = slice(text, from);
      waits = stopped !== undefined;
      if (stopped !== undefined) {
        stream.pause();
        if (full === undefined) setImmediate(takeFrom, text, stopped).unref();
        else void full.then(() => setImmediate(takeFrom, text, stopped).unref());
      } else if (ended) finish();
      else stream.resume();
    };
    // A stream may emit its end before its last chunk was taken.
    const onEnd = (): void => {
      if (ended) return;
      ended = true;
      if (!waits) finish();
    };
    stream.on('data', (chunk: Buffer) => {
      takeFrom(decoder.write(chunk), 0);
    });
    stream.once('end', onEnd);
    stream.once('close', onEnd);
  });
}

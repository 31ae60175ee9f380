/** Reads what a process writes, line by line, without holding the event loop up. */

import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** For so long lines of all streams are taken in one turn of the event loop. */
const sliceMs = 1;
/** Of each stream at least so many, so that none waits for others for ever. */
const leastLines = 16;

/** When the lines of this turn have taken their time; undefined: none was taken in it. */
let turnEnd: number | undefined;

function endOfTurn(): number {
  if (turnEnd === undefined) {
    turnEnd = performance.now() + sliceMs;
    setImmediate(() => (turnEnd = undefined)).unref();
  }
  return turnEnd;
}

/** What is done with lines. */
export interface LineTaker {
  readonly take: (line: string) => void;
  /** A longer line, in characters, is given to `tooLong` in pieces. */
  readonly longest: number;
  readonly tooLong: (piece: string) => void;
  /** Asked after each line. A promise: no further line is taken, nor is the stream read, until it resolves. */
  readonly room?: () => Promise<void> | undefined;
}

/**
 * Gives each line of a stream to `take`, and what is left of one at the stream's end. Lines are taken for
 * a millisecond in a turn of the event loop; until a stream's are taken, it is read no more, so that a process
 * that writes faster waits. Resolves when the last line was taken.
 */
export function readLines(stream: Readable, { take, longest, tooLong, room }: LineTaker): Promise<void> {
  const decoder = new StringDecoder('utf8');
  // The beginning of a line whose end has not come.
  let parts: string[] = [];
  let size = 0;
  /** Resolves when the taker has room; undefined: it has. */
  let full: Promise<void> | undefined;
  const keep = (text: string): void => {
    parts.push(text);
    size += text.length;
    if (size > longest) give(tooLong);
  };
  const give = (to: (text: string) => void): void => {
    const text = parts.length === 1 ? (parts[0] ?? '') : parts.join('');
    parts = [];
    size = 0;
    to(text);
  };
  /** Takes lines from a place on. Returns where it has stopped; undefined: the text has no further line. */
  const slice = (text: string, from: number): number | undefined => {
    const end = endOfTurn();
    let begin = from;
    let lines = 0;
    for (let next = text.indexOf('\n', begin); next >= 0; next = text.indexOf('\n', begin)) {
      parts.push(text.slice(begin, next));
      give(take);
      begin = next + 1;
      full = room?.();
      if (full !== undefined) return begin;
      if (++lines >= leastLines && performance.now() >= end) return begin;
    }
    if (begin < text.length) keep(text.slice(begin));
    return undefined;
  };
  return new Promise((resolve) => {
    let waits = false;
    let ended = false;
    const finish = (): void => {
      const rest = decoder.end();
      if (rest !== '') parts.push(rest);
      if (parts.length > 0) give(take);
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
    // A stream may tell of its end before its last chunk was taken.
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

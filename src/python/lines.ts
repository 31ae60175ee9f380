/** Reads what a process writes, line by line, without holding the event loop up. */

import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** For so long lines are taken in one turn of the event loop. */
const sliceMs = 1;

/** What is done with lines. */
export interface LineTaker {
  readonly take: (line: string) => void;
  /** A longer line, in characters, is given to `tooLong` in pieces. */
  readonly longest: number;
  readonly tooLong: (piece: string) => void;
}

/**
 * Gives each line of a stream to `take`, and what is left of one at the stream's end. It takes lines for
 * a millisecond in a turn of the event loop; until it has taken what it has, it reads no more, so that a process
 * that writes faster waits.
 */
export function readLines(stream: Readable, { take, longest, tooLong }: LineTaker): void {
  const decoder = new StringDecoder('utf8');
  // The beginning of a line whose end has not come.
  let parts: string[] = [];
  let size = 0;
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
    const end = performance.now() + sliceMs;
    let begin = from;
    for (let next = text.indexOf('\n', begin); next >= 0; next = text.indexOf('\n', begin)) {
      parts.push(text.slice(begin, next));
      give(take);
      begin = next + 1;
      if (performance.now() >= end) return begin;
    }
    if (begin < text.length) keep(text.slice(begin));
    return undefined;
  };
  const takeFrom = (text: string, from: number): void => {
    const stopped = slice(text, from);
    if (stopped === undefined) {
      stream.resume();
      return;
    }
    stream.pause();
    setImmediate(takeFrom, text, stopped).unref();
  };
  stream.on('data', (chunk: Buffer) => {
    takeFrom(decoder.write(chunk), 0);
  });
  stream.once('end', () => {
    const rest = decoder.end();
    if (rest !== '') parts.push(rest);
    if (parts.length > 0) give(take);
  });
}

/** Cuts what a process writes into lines. */

import { StringDecoder } from 'node:string_decoder';

/** A longer line is given in pieces, in characters. */
const longest = 65_536;

/** Returns a function that takes chunks, and gives `take` each line; call it without a chunk at the end. */
export function lineReader(take: (line: string) => void, most: number = longest): (chunk?: Buffer) => void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  return (chunk) => {
    rest += chunk === undefined ? decoder.end() : decoder.write(chunk);
    let begin = 0;
    for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n', begin)) {
      take(rest.slice(begin, end));
      begin = end + 1;
    }
    rest = rest.slice(begin);
    if (rest.length > most || (chunk === undefined && rest !== '')) {
      take(rest);
      rest = '';
    }
  };
}

/**
 * Streams two texts at the same time, letter by letter, and prints how fast texts are written one after the other and
 * side by side: by a model that is so small that only the way to it counts, and by one with weights to read for each letter.
 * `node dist/examples/streaming-text/demo.js` exits with 1 unless every text is right.
 */
import { table } from '../../bench/reports/table.js';
import type { InferenceServer } from '../../src/index.js';
import { lines, mostAtATime, serveWriter, write, writeWhole } from './serve.js';

const rounds = 5;
/** Texts of a turn. */
const texts = 8 * mostAtATime;
/** The recurrent layer of the larger model has this many units, and their square weights. */
const units = 1024;

let wrong = 0;
const check = (line: number, text: string): void => {
  if (text === lines[line]) return;
  wrong++;
  console.error(`expected ${JSON.stringify(lines[line])} but received ${JSON.stringify(text)}`);
};

/** Shows two texts while they are written. */
async function showTwo(server: InferenceServer): Promise<void> {
  const shown = ['', ''];
  const follow = async (line: number): Promise<void> => {
    for await (const letter of write(server, line)) {
      shown[line] = (shown[line] ?? '') + letter;
      // Each caller's text, as far as it has come, at a few moments.
      if (shown.join('').length % 20 === 0) console.log(shown.map((text) => text.padEnd(60)).join(''));
    }
  };
  await Promise.all([follow(0), follow(1)]);
  console.log(`\n${shown.join('\n')}\n`);
  shown.forEach((text, line) => {
    check(line, text);
  });
}

/** Letters a second, with so many texts at a time. */
async function lettersPerSecond(server: InferenceServer, atATime: number): Promise<number> {
  const start = performance.now();
  let letters = 0;
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < texts) {
      const line = next++ % lines.length;
      const text = await writeWhole(server, line);
      check(line, text);
      letters += text.length;
    }
  };
  await Promise.all(Array.from({ length: atATime }, caller));
  return (letters * 1000) / (performance.now() - start);
}

const sizes = [1, 4, mostAtATime];

/** The medians of {@link lettersPerSecond}, by the number of texts at a time. */
async function measure(server: InferenceServer): Promise<readonly number[]> {
  const rates = sizes.map((): number[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, size] of sizes.entries()) rates[i]?.push(await lettersPerSecond(server, size));
  }
  return rates.map((some) => some.sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN);
}

const rows: string[][] = [];
for (const [model, size] of [
  ['tiny', undefined],
  [`${(units * units) / 2 ** 20} million weights`, units],
] as const) {
  await using server = await serveWriter(size);
  if (size === undefined) await showTwo(server);
  const medians = await measure(server);
  for (const [i, atATime] of sizes.entries()) {
    const rate = medians[i] ?? NaN;
    rows.push([model, String(atATime), rate.toFixed(0), `${(rate / (medians[0] ?? NaN)).toFixed(1)} x`]);
  }
}
console.log(table(['model', 'texts at a time', 'letters/s', 'of one at a time'], rows));
if (wrong > 0) process.exitCode = 1;

/**
 * Streams two texts at the same time, letter by letter, and prints how fast texts are written one after the other and
 * side by side. `node dist/examples/streaming-text/demo.js` exits with 1 unless every text is right.
 */
import { table } from '../../bench/reports/table.js';
import { lines, mostAtATime, serveWriter, write, writeWhole } from './serve.js';

const rounds = 5;
/** Texts of a turn. */
const texts = 8 * mostAtATime;

await using server = await serveWriter();

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

let wrong = 0;
const check = (line: number, text: string): void => {
  if (text === lines[line]) return;
  wrong++;
  console.error(`expected ${JSON.stringify(lines[line])} but received ${JSON.stringify(text)}`);
};
shown.forEach((text, line) => {
  check(line, text);
});

/** Letters a second, with so many texts at a time. */
async function lettersPerSecond(atATime: number): Promise<number> {
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
const rates = new Map<number, number[]>(sizes.map((size) => [size, []]));
for (let round = 0; round < rounds; round++) {
  for (const size of sizes) rates.get(size)?.push(await lettersPerSecond(size));
}
const median = (size: number): number =>
  (rates.get(size) ?? []).sort((a, b) => a - b)[Math.floor(rounds / 2)] ?? NaN;
console.log(
  table(
    ['texts at a time', 'letters/s', 'of one at a time'],
    sizes.map((size) => [
      String(size),
      median(size).toFixed(0),
      `${(median(size) / median(1)).toFixed(1)} x`,
    ]),
  ),
);
if (wrong > 0) process.exitCode = 1;

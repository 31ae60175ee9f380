import 'sharp'; // first on the main thread, as sharp's documentation asks of programs with worker threads
import { readFile } from 'node:fs/promises';
import { createServer } from 'tritonts';

const files = process.argv.slice(2);
if (files.length === 0) files.push('pictures/3.jpg', 'pictures/7.jpg');

const server = await createServer(['./models', '../digits/models']);
const best = { outputs: [{ name: 'scores', classification: 1 }] };
for (const file of files) {
  const { outputs } = await server.infer('digit', { jpeg: [[await readFile(file)]] }, best);
  const [probability, digit] = outputs.scores.strings()[0].split(':');
  console.log(file, digit, probability);
}
await server.close();

import { readFile } from 'node:fs/promises';
import { createServer } from 'tritonts';

const files = process.argv.slice(2);
if (files.length === 0) files.push('recordings/call.wav');

const server = await createServer('./models');
for (const file of files) {
  const { outputs } = await server.infer('dial', { wav: [[await readFile(file)]] });
  console.log(file, outputs.keys.strings()[0]);
}
await server.close();

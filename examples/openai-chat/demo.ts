/**
 * Asks both models through OpenAI's client: prints a text as it is written, and how fast texts are written one after the
 * other and side by side. `node dist/examples/openai-chat/demo.js` exits with 1 unless both models write the same.
 */
import OpenAI from 'openai';
import { table } from '../../bench/reports/table.js';
import { mostAtATime, serveWriters } from './serve.js';

const { server, endpoint } = await serveWriters(0);
const client = new OpenAI({ baseURL: `http://127.0.0.1:${endpoint.address.port}/v1`, apiKey: 'none' });

const messages = [{ role: 'user', content: '# Batching' }] as const;
const models = ['writer', 'iterative-writer'] as const;

const sampling = { max_completion_tokens: 300, temperature: 0.4, seed: 5 };
const stream = await client.chat.completions.create({
  ...{ model: 'writer', messages: [...messages], stream: true },
  ...sampling,
});
let first = '';
for await (const { choices } of stream) {
  const letter = choices[0]?.delta.content ?? '';
  first += letter;
  process.stdout.write(letter);
}
console.log('\n');

/** Letters of a text. */
const length = 200;

async function write(model: string, seed: number): Promise<string> {
  let text = '';
  const pieces = await client.completions.create({
    ...{ model, prompt: '## ', stream: true, max_tokens: length, seed },
  });
  for await (const { choices } of pieces) text += choices[0]?.text ?? '';
  return text;
}

/** Letters a second, with so many texts at a time. */
async function lettersPerSecond(model: string, atATime: number): Promise<number> {
  const texts = 2 * mostAtATime;
  const start = performance.now();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < texts) await write(model, next++);
  };
  await Promise.all(Array.from({ length: atATime }, caller));
  return (texts * length * 1000) / (performance.now() - start);
}

const rows: string[][] = [];
for (const atATime of [1, mostAtATime]) {
  const rates: string[] = [];
  for (const model of models) rates.push((await lettersPerSecond(model, atATime)).toFixed(0));
  rows.push([String(atATime), ...rates]);
}
console.log(table(['texts at a time', ...models.map((model) => `${model}, letters/s`)], rows));

const [one, other] = await Promise.all(models.map((model) => write(model, 1)));
if (one !== other || one?.length !== length || first.length !== 300) process.exitCode = 1;
await endpoint.close();
await server.close();

// Makes docs/top.svg: what `tritonts top` shows on a terminal, with a server that is loaded: node scripts/top-picture.mjs
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createServer } from '../dist/src/index.js';
import { serveTop } from '../dist/src/metrics/serve.js';
import { drawScreen, screenOf } from './terminal-picture.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const [rows, columns] = [8, 146];

const server = await createServer(join(root, 'examples/digits/models'));
const folder = mkdtempSync(join(tmpdir(), 'tritonts-top-'));
const endpoint = await serveTop(server, { path: join(folder, 'app.sock') });
const image = new Float32Array(64);
const timer = setInterval(() => {
  for (let i = 0; i < 8; i++) void server.infer('digits', { image });
  if (Math.random() < 0.3) void server.infer('digits_conv', { image });
}, 5);
const command = [process.execPath, join(root, 'dist/command/main.js'), 'top', endpoint.path, '-n', '2'];
const screen = await screenOf(command, rows, columns, { afterMs: 9000 });
clearInterval(timer);
await endpoint.close();
await server.close();
rmSync(folder, { recursive: true });

const label =
  'A terminal with npx tritonts top: the server, the machine, and a table with a line for each model.';
drawScreen(join(root, 'docs/top.svg'), screen, rows, columns, label, (text) => text.replace(folder, '.'));

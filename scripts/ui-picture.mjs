// Makes docs/ui.png: the web page of a server that is loaded, in a Chromium without a window: node scripts/ui-picture.mjs
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import sharp from 'sharp';
import { serveHttp } from '../dist/src/endpoints/http/serve.js';
import { createServer } from '../dist/src/index.js';
import { chromiumProgram } from '../dist/test/endpoints/ui/browser.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const server = await createServer(join(root, 'examples/digits/models'));
const endpoint = await serveHttp(server, { port: 0, ui: true });
const image = new Float32Array(64);
let turn = 0;
const timer = setInterval(() => {
  // The load rises and falls.
  const many = 4 + Math.round(4 * Math.sin(turn++ / 300) + Math.random());
  for (let i = 0; i < many; i++) void server.infer('digits', { image });
  if (turn % 4 === 0) void server.infer('digits_conv', { image });
}, 5);

const browser = await chromium.launch({ executablePath: chromiumProgram, args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1100, height: 1130 }, colorScheme: 'light' });
await page.goto(`http://127.0.0.1:${endpoint.address.port}/ui/`);
await page.getByLabel('Read every').selectOption('1000');
await sleep(75_000);
await page.getByRole('button', { name: 'digits', exact: true }).click();
await page.getByRole('button', { name: 'Send' }).click();
await page.getByText('Answered after').waitFor();
const shot = await page.screenshot();
clearInterval(timer);
await browser.close();
await endpoint.close();
await server.close();
await sharp(shot).png({ palette: true, colours: 48, compressionLevel: 9 }).toFile(join(root, 'docs/ui.png'));

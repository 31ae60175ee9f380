// Makes docs/openai.svg: the example's text, written to OpenAI's client, and its speeds: node scripts/openai-picture.mjs
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { drawScreen, screenOf } from './terminal-picture.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const [rows, columns] = [18, 100];
const command = [process.execPath, join(root, 'dist/examples/openai-chat/demo.js')];
const screen = await screenOf(command, rows, columns, { shown: 'npm run demo -- openai-chat' });
drawScreen(
  join(root, 'docs/openai.svg'),
  screen,
  rows,
  columns,
  'A terminal with the example openai-chat: a text that looks like these pages and means nothing, and a table of letters a second with 1 and 16 texts at a time.',
);

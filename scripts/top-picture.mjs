// Makes docs/top.svg: what `tritonts top` shows on a terminal, with a server that is loaded. It needs python3 for the
// pseudo-terminal: node scripts/top-picture.mjs
import { writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import xterm from '@xterm/headless';
import { createServer } from '../dist/src/index.js';
import { serveTop } from '../dist/src/metrics/serve.js';
import { card } from '../dist/src/perf/plot/card.js';
import { escape } from '../dist/src/perf/plot/plot.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const [rows, columns] = [8, 146];
const cell = { width: 7.25, height: 18 };
const margin = 16;

/** Runs a command on a pseudo-terminal of this size. */
const onTerminal = `
import fcntl, os, pty, struct, sys, termios
def main():
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack('HHHH', ${rows}, ${columns}, 0, 0))
        os.execvp(sys.argv[1], sys.argv[1:])
    try:
        while data := os.read(fd, 65536): os.write(1, data)
    except OSError: pass
main()
`;

/** What the terminal shows after a while. */
async function screenOf(path) {
  const terminal = new xterm.Terminal({ rows, cols: columns, allowProposedApi: true });
  const command = [process.execPath, join(root, 'dist/command/main.js'), 'top', path, '-n', '2'];
  const child = spawn('python3', ['-c', onTerminal, ...command], {
    env: { ...process.env, TERM: 'xterm-256color' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.stdout.on('data', (bytes) => terminal.write(bytes));
  await sleep(9000);
  child.kill('SIGKILL');
  await ended;
  return terminal.buffer.active;
}

/** A line of the screen: runs of cells with one style. */
function runsOf(line) {
  const runs = [];
  for (let i = 0; i < columns; i++) {
    const at = line.getCell(i);
    const style = at.isInverse()
      ? 'inverse'
      : at.isDim()
        ? 'pale'
        : at.isBold()
          ? 'bold'
          : `c${at.getFgColor()}`;
    const text = at.getChars() || ' ';
    const last = runs.at(-1);
    if (last?.style === style) last.text += text;
    else runs.push({ style, text, at: i });
  }
  return runs;
}

const server = await createServer(join(root, 'examples/digits/models'));
const folder = mkdtempSync(join(tmpdir(), 'tritonts-top-'));
const endpoint = await serveTop(server, { path: join(folder, 'app.sock') });
const image = new Float32Array(64);
const timer = setInterval(() => {
  for (let i = 0; i < 8; i++) void server.infer('digits', { image });
  if (Math.random() < 0.3) void server.infer('digits_conv', { image });
}, 5);
const screen = await screenOf(endpoint.path);
clearInterval(timer);
await endpoint.close();
await server.close();
rmSync(folder, { recursive: true });

const top = margin + cell.height;
const content = Array.from({ length: rows }, (_, y) => {
  const line = screen.getLine(y);
  const base = top + y * cell.height;
  return runsOf(line)
    .filter(({ style, text }) => style === 'inverse' || text.trim() !== '')
    .map(({ style, text, at }) => {
      const shown = text.replace(folder, '.');
      const x = margin + at * cell.width;
      const back =
        style === 'inverse'
          ? `<rect class="back" x="${x}" y="${base - 13.5}" width="${text.length * cell.width}" height="${cell.height}"/>`
          : '';
      return `${back}<text class="cell ${style}" x="${x}" y="${base}" xml:space="preserve">${escape(shown)}</text>`;
    })
    .join('');
}).join('\n');
const style = `<style>
.cell { fill: var(--ink); font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre; }
.bold { font-weight: 700; } .pale { fill: var(--pale); } .c2 { fill: var(--piscina); } .c1 { fill: var(--direct); }
.inverse { fill: var(--paper); } .back { fill: var(--ink); }
</style>`;
writeFileSync(
  join(root, 'docs/top.svg'),
  card(
    { width: Math.ceil(2 * margin + columns * cell.width), height: top + rows * cell.height },
    'A terminal with npx tritonts top: the server, the machine, and a table with a line for each model.',
    `${style}\n${content}`,
  ),
);

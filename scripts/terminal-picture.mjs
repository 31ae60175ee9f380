// Draws what a command shows on a terminal. It needs python3 for the pseudo-terminal.
import { writeFileSync } from 'node:fs';
import { spawn } from 'node:child_process';
import xterm from '@xterm/headless';
import { card } from '../dist/src/perf/plot/card.js';
import { escape } from '../dist/src/perf/plot/plot.js';

const cell = { width: 7.25, height: 18 };
const margin = 16;

/** Runs a command on a pseudo-terminal of this size. */
const onTerminal = (rows, columns) => `
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

/**
 * What the terminal shows: after `options.afterMs`, and without it at the end of the command.
 *
 * @param options - `shown`: the command as a person types it, which is the first line; `cwd`, `env`, `afterMs`.
 */
export async function screenOf(command, rows, columns, options = {}) {
  const { shown, cwd, env = {}, afterMs } = options;
  const terminal = new xterm.Terminal({ rows, cols: columns, allowProposedApi: true });
  if (shown !== undefined) terminal.write(`\u001b[1m$ ${shown}\u001b[0m\r\n`);
  // A terminal that is as wide, and high enough for all lines: none is scrolled away.
  const child = spawn('python3', ['-c', onTerminal(rows, columns), ...command], {
    cwd,
    env: { ...process.env, TERM: 'xterm-256color', CI: '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const timer = afterMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), afterMs);
  child.stdout.on('data', (bytes) => terminal.write(bytes));
  await ended;
  clearTimeout(timer);
  await new Promise((resolve) => terminal.write('', resolve));
  return terminal.buffer.active;
}

/** A line of the screen: runs of cells with one style. */
function runsOf(line, columns) {
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

const rules = `.cell { fill: var(--ink); font: 12px ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace; white-space: pre; }
.bold { font-weight: 700; } .pale, .c8 { fill: var(--pale); } .c2 { fill: var(--piscina); } .c1 { fill: var(--direct); }
.inverse { fill: var(--paper); } .back { fill: var(--ink); }`;

/**
 * Writes a screen as a picture, up to its last line that is not empty.
 *
 * @param label - What it shows, for those who cannot see it.
 * @param text - Changes the text of cells of one style.
 */
export function drawScreen(file, screen, rows, columns, label, text = (cells) => cells) {
  const top = margin + cell.height;
  let used = rows;
  while (used > 1 && screen.getLine(used - 1).translateToString(true) === '') used--;
  const content = Array.from({ length: used }, (_, y) => {
    const line = screen.getLine(y);
    const base = top + y * cell.height;
    return runsOf(line, columns)
      .filter((run) => run.style === 'inverse' || run.text.trim() !== '')
      .map((run) => {
        const x = margin + run.at * cell.width;
        const back =
          run.style === 'inverse'
            ? `<rect class="back" x="${x}" y="${base - 13.5}" width="${run.text.length * cell.width}" height="${cell.height}"/>`
            : '';
        return `${back}<text class="cell ${run.style}" x="${x}" y="${base}" xml:space="preserve">${escape(text(run.text))}</text>`;
      })
      .join('');
  }).join('\n');
  const size = {
    width: Math.ceil(2 * margin + columns * cell.width),
    height: top + (used - 1) * cell.height + margin,
  };
  writeFileSync(file, card(size, label, content, rules));
}

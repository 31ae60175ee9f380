// Runs a program with one line of progress; its output is shown only if it fails.
import { spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';

/**
 * Resolves with whether the program succeeded.
 *
 * @param title - The name of the step, such as 'Building'.
 * @param file - The program.
 * @param args - Its arguments.
 * @param screen - The stream for the line. If it is not a terminal, the title is printed once.
 */
export async function quietly(title, file, args, { cwd = process.cwd(), screen = process.stderr } = {}) {
  const start = performance.now();
  const output = [];
  let last = '';
  const draw = () => {
    const seconds = Math.floor((performance.now() - start) / 1000);
    const line = `${title}, ${seconds} s${last === '' ? '' : `: ${last}`}`;
    screen.write(`\r\u001b[K${line.slice(0, (screen.columns ?? 80) - 1)}`);
  };
  if (screen.isTTY) draw();
  else screen.write(`${title} …\n`);
  const clock = screen.isTTY ? setInterval(draw, 1000) : undefined;
  const stdio = ['ignore', 'pipe', 'pipe'];
  const child = spawn(file, args, { cwd, stdio, shell: file === 'npm' && process.platform === 'win32' });
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output.push(chunk);
      const lines = stripVTControlCharacters(String(chunk)).split(/[\r\n]+/);
      last = lines.map((text) => text.trim()).findLast((text) => text !== '') ?? last;
      if (screen.isTTY) draw();
    });
  }
  const code = await new Promise((resolve) => {
    child.once('error', (error) => {
      output.push(Buffer.from(`${String(error)}\n`));
      resolve(-1);
    });
    child.once('close', resolve);
  });
  clearInterval(clock);
  if (screen.isTTY) screen.write('\r\u001b[K');
  if (code !== 0) screen.write(Buffer.concat(output));
  return code === 0;
}

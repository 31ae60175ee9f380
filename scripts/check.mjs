// Runs all checks that need no tests, beside each other, and shows what the failing ones said. Exits with 1 if one fails.
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Each a list of npm scripts that need what those before them made. */
const chains = [['build:ts', 'docs:check'], ['format:check'], ['lint']];

function run(script) {
  return new Promise((resolve) => {
    const output = [];
    const child = spawn('npm', ['run', '--silent', script], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    });
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk));
    child.once('error', (error) => output.push(Buffer.from(`${String(error)}\n`)));
    child.once('close', (code) => {
      console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${script}`);
      if (code !== 0) {
        process.stderr.write(Buffer.concat(output));
        process.exitCode = 1;
      }
      resolve(code === 0);
    });
  });
}

await Promise.all(
  chains.map(async (scripts) => {
    for (const script of scripts) if (!(await run(script))) return;
  }),
);

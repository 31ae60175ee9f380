import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';

const module = new URL('../../../scripts/quietly.mjs', import.meta.url).href;
const run = promisify(execFile);

/** Runs a program with `quietly` in its own process. Returns the screen's content, and whether it succeeded. */
async function quietly(
  program: string,
  screen = '{ columns: 40 }',
): Promise<{ seen: string; well: boolean }> {
  const code = `
    import { quietly } from ${JSON.stringify(module)};
    const seen = [];
    const screen = Object.assign({ write: (text) => seen.push(String(text)) }, ${screen});
    const well = await quietly('Building', process.execPath, ['-e', ${JSON.stringify(program)}], { screen });
    console.log(JSON.stringify({ seen: seen.join(''), well }));`;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', code]);
  return JSON.parse(stdout) as { seen: string; well: boolean };
}

test('a program that ends well leaves one line where nobody watches', async () => {
  assert.deepEqual(await quietly('console.log("much"); console.error("more")'), {
    seen: 'Building …\n',
    well: true,
  });
});

test('a program that fails shows all that it printed', async () => {
  const { seen, well } = await quietly('console.log("much"); console.error("more"); process.exitCode = 3');
  assert.equal(well, false);
  assert.match(seen, /^Building …\n/);
  assert.match(seen, /^much$/m);
  assert.match(seen, /^more$/m);
});

test('who watches sees the last line, cut to the screen, and then nothing', async () => {
  const program = 'console.log("[1/2] \\u001b[32mfirst\\u001b[0m\\n" + "x".repeat(100))';
  const { seen } = await quietly(program, '{ columns: 40, isTTY: true }');
  const lines = seen.split('\r\u001b[K');
  assert.match(lines[1] ?? '', /^Building, \d+ s$/);
  assert.ok(
    lines.some((line) => /^Building, \d+ s: x+$/.test(line)),
    seen,
  );
  assert.ok(lines.every((line) => line.length < 40));
  assert.equal(lines.at(-1), '');
});

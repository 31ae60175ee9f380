/** Runs cases in the bare runtime, with the program in native/. */
import { spawn } from 'node:child_process';

/**
 * The outcome of a case: its outputs lie in its folder's bare.bin, or there is a reason why there are none.
 */
export type BareOutcome =
  { readonly failed?: undefined } | { readonly failed: 'load' | 'run'; readonly reason: string };

/** Writes lines to a program. Returns the lines that it prints, and whether it came to its end. */
function run(
  program: string,
  args: readonly string[],
  input: string,
): Promise<{ lines: string[]; crash?: string }> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
  // Writing to a crashed program fails. The code that waits for its end reports the crash.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      const lines = output.split('\n').slice(0, -1);
      if (signal !== null) resolve({ lines, crash: signal });
      else if (code === 0) resolve({ lines });
      else reject(new Error(`${program} ended with code ${String(code)}`));
    });
  });
}

function parse(line: string): BareOutcome {
  const [word, reason = ''] = line.split('\t');
  return word === 'load' || word === 'run' ? { failed: word, reason } : {};
}

/**
 * Runs cases in the bare runtime, in another process. If a case crashes it, the next cases run in a new one.
 *
 * @param program - Path of the program.
 * @param library - Path of the runtime's library.
 * @param folders - Folders of cases.
 * @returns One outcome for each folder, in their order.
 */
export async function runBare(
  program: string,
  library: string,
  folders: readonly string[],
): Promise<BareOutcome[]> {
  const outcomes: BareOutcome[] = [];
  while (outcomes.length < folders.length) {
    const rest = folders.slice(outcomes.length);
    const { lines, crash } = await run(program, [library], rest.map((folder) => `${folder}\n`).join(''));
    outcomes.push(...lines.map(parse));
    if (crash !== undefined) outcomes.push({ failed: 'run', reason: `the runtime crashed with ${crash}` });
    else if (lines.length < rest.length) throw new Error(`${program} left out ${rest[lines.length] ?? ''}`);
  }
  return outcomes;
}

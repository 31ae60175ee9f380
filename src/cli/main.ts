#!/usr/bin/env node
/** The command `npx tritonts …`. */

import { printableLine } from '../printable.js';
import { runCommand } from './commands.js';

let unwritten: NodeJS.ErrnoException | undefined;
// Without a listener, a reader that has exited, as with `| head`, would end the process with a stack trace.
process.stdout.on('error', (error: NodeJS.ErrnoException) => (unwritten ??= error));
// What cannot be told of progress or errors does not end the work, nor change its exit code.
process.stderr.on('error', () => undefined);
const code = await runCommand(process.argv.slice(2));
// A stream emits an error after its write.
await new Promise((resolve) => setImmediate(resolve));
if (unwritten !== undefined && unwritten.code !== 'EPIPE') {
  console.error(`tritonts: standard output cannot be written: ${printableLine(unwritten.message)}`);
  process.exitCode = code === 0 ? 2 : code;
} else process.exitCode = code;

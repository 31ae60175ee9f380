/** The process that loads a candidate, and says how much it grew. */

import { TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import { memoryOfModels, type MemoryAnswer, type MemoryJob } from './memory.js';
import { Trials } from './trials.js';

async function answerOf({ options, changed }: MemoryJob): Promise<MemoryAnswer> {
  try {
    const empty = await memoryOfModels();
    let grown: number | undefined;
    await new Trials(options, new AbortController().signal).load(changed, async () => {
      const full = await memoryOfModels();
      if (empty !== undefined && full !== undefined) grown = full - empty;
    });
    if (grown === undefined)
      throw new TritonError('UNSUPPORTED', 'this system does not tell how much memory a process has');
    return { bytes: Math.max(0, grown) };
  } catch (error) {
    if (error instanceof TritonError) return { code: error.code, message: error.message };
    return { code: 'INTERNAL', message: thrownText(error) };
  }
}

process.once('message', (job) => {
  // The parent sends nothing else.
  void answerOf(job as MemoryJob).then((answer) => process.send?.(answer));
});
// Ctrl-C reaches all processes of a terminal. This one ends when its parent says so, or ends.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', () => {
  process.exit();
});

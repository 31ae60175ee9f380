/** `tritonts top`: shows what a running server does, on a terminal or as text. */

import { invalidArgument, TritonError } from '../../errors.js';
import { printable, printableLine } from '../../printable.js';
import { thrownText } from '../../thrown-text.js';
import type { TopSource } from '../../top/reading.js';
import { RemoteSource } from '../../top/sources/remote-source.js';
import { SocketSource } from '../../top/sources/socket-source.js';
import { jsonFailure, jsonLine } from '../../top/view/json.js';
import { plainText } from '../../top/view/plain.js';
import { watch } from '../../top/watch.js';
import { flagsText } from '../flags/help.js';
import { parseFlags } from '../flags/parse-flags.js';
import { topFlagGroups, topFlags } from './flags.js';
import { runLive } from './live.js';
import { topSettings, type TopSettings } from './settings.js';

const codes = { done: 0, noAnswer: 1, wrongFlags: 2, interrupted: 130, terminated: 143 } as const;

function helpText(): string {
  return `Shows what a running server does: models, requests a second, latencies, queues, batches, memory.

Usage: tritonts top [<url>]     http://…, https://…, grpc://…, grpcs://…; Triton, too
       tritonts top <socket>    a program that has called serveTop

A value stands behind '=' or as the next word.

${flagsText(topFlagGroups)}

On a terminal ? lists the keys. Elsewhere each interval is a table, or with --json a line.

Exit code: ${codes.done}; ${codes.noAnswer}: --once, and the server did not answer; ${codes.wrongFlags}: a wrong command line; ${codes.interrupted}: Ctrl-C; ${codes.terminated}: SIGTERM.`;
}

/**
 * Runs the command.
 *
 * @param args - The arguments after `top`.
 * @returns The exit code.
 */
export async function top(args: readonly string[]): Promise<number> {
  let settings: TopSettings;
  try {
    const values = parseFlags(topFlags, 'url', args);
    if (values.has('help')) {
      console.log(helpText());
      return codes.done;
    }
    settings = topSettings(values);
  } catch (error) {
    const text = error instanceof TritonError ? `${error.code}: ${error.message}` : thrownText(error);
    console.error(printable(`tritonts: ${text}`));
    return codes.wrongFlags;
  }
  const source = sourceOf(settings);
  const end = new AbortController();
  let code: number = codes.done;
  const stop = (signal: NodeJS.Signals): void => {
    code = signal === 'SIGINT' ? codes.interrupted : codes.terminated;
    end.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop);
  try {
    if (process.stdout.isTTY && !settings.once && !settings.json && process.env['TERM'] !== 'dumb') {
      const how = await runLive(source, settings, end);
      if (how === 'interrupt') code = codes.interrupted;
    } else {
      const answered = await runPlain(source, settings, end.signal);
      if (!answered && code === codes.done) code = codes.noAnswer;
    }
    return code;
  } finally {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.off(signal, stop);
    await source.close();
  }
}

function sourceOf({ place, timeoutMs }: TopSettings): TopSource {
  if ('socket' in place) return new SocketSource(place.socket, timeoutMs);
  try {
    return new RemoteSource({ ...place, timeoutMs });
  } catch (cause) {
    throw invalidArgument(`the URL cannot be used: ${thrownText(cause)}`, { cause });
  }
}

/** Writes a table or a line for each interval. Returns false if `--once` has no figures. */
async function runPlain(
  source: TopSource,
  { intervalMs, choice, once, json }: TopSettings,
  signal: AbortSignal,
): Promise<boolean> {
  const { place } = source;
  const ended = new AbortController();
  const stop = (): void => {
    ended.abort();
  };
  // A reader that has left, as with `| head`, ends the command.
  process.stdout.once('error', stop);
  try {
    let first = true;
    for await (const outcome of watch(source, intervalMs, AbortSignal.any([signal, ended.signal]))) {
      const time = new Date();
      if ('failure' in outcome) {
        if (json) console.log(printable(jsonFailure(place, outcome.failure, time)));
        else console.error(printableLine(`${time.toISOString()}  ${place}: ${outcome.failure}`));
        if (once) return false;
        continue;
      }
      // The first reading has no rates yet.
      if (outcome.figures.seconds === undefined) continue;
      if (json) console.log(printable(jsonLine(outcome.figures, place, choice, time)));
      else console.log(`${first ? '' : '\n'}${printable(plainText(outcome.figures, place, choice, time))}`);
      first = false;
      if (once) return true;
    }
    return true;
  } finally {
    process.stdout.off('error', stop);
  }
}

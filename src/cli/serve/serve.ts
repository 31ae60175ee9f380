/** `tritonts serve`: a server and its endpoints, from the command line to the signal that ends them. */

import { TritonError } from '../../errors.js';
import { printable } from '../../printable.js';
import { createServer } from '../../server/create-server.js';
import type { InferenceServer } from '../../server/inference-server.js';
import type { Endpoint } from './endpoint.js';
import { closeEndpoints, prepareEndpoints, startEndpoints } from './endpoints.js';
import { Log } from './log.js';
import { modelTable } from './model-table.js';
import { parseFlags } from './parse-flags.js';
import { RequestLog } from './request-log.js';
import { settingsOf, type ServeSettings } from './settings.js';

/** How long answers have to leave when their requests have ended, in milliseconds. */
const lastAnswersMs = 2000;

/** A signal that ends the server. */
type EndSignal = 'SIGTERM' | 'SIGINT';

/**
 * Waits for the first signal. As in Triton, others change nothing: a terminal's Ctrl-C comes twice where npx passes it on.
 *
 * @param onSignal - Called at once.
 */
function firstSignal(onSignal: (signal: EndSignal) => void): {
  readonly came: Promise<EndSignal>;
  readonly forget: () => void;
} {
  let listener: (signal: EndSignal) => void = () => undefined;
  const came = new Promise<EndSignal>((resolve) => {
    let seen = false;
    listener = (signal) => {
      if (seen) return;
      seen = true;
      onSignal(signal);
      resolve(signal);
    };
    process.on('SIGTERM', listener).on('SIGINT', listener);
  });
  return {
    came,
    forget: () => {
      process.off('SIGTERM', listener).off('SIGINT', listener);
    },
  };
}

/** A server whose models are loaded, and how many of them failed. */
interface Loaded {
  readonly server: InferenceServer;
  readonly failed: number;
}

async function load({ server: options }: ServeSettings, log: Log, signal: AbortSignal): Promise<Loaded> {
  const failed = new Set<string>();
  const { logger } = log;
  const server = await createServer({
    ...options,
    signal,
    logger: {
      ...logger,
      error: (message, context) => {
        logger.error(message, context);
        if (context.model !== undefined) failed.add(context.model);
      },
    },
  });
  // What fails later has its own answer.
  return { server, failed: failed.size };
}

/** Refuses new requests, and lets those under way end. Endpoints answer until then: readiness is 503. */
async function drain(
  { server }: Loaded,
  endpoints: readonly Endpoint[],
  { exitTimeoutMs }: ServeSettings,
  log: Log,
): Promise<number> {
  let code = 0;
  try {
    await server.close({ timeoutMs: exitTimeoutMs });
  } catch (error) {
    log.error(`failed to stop server: ${textOf(error)}`);
    code = 1;
  }
  await closeEndpoints(endpoints, lastAnswersMs);
  return code;
}

/** Everything from the loads on. Returns the exit code. */
async function run(settings: ServeSettings, log: Log): Promise<number> {
  const loading = new AbortController();
  const { came, forget } = firstSignal((signal) => {
    log.info(
      `Signal (${signal}) received: new requests are refused, those under way have ${settings.exitTimeoutMs / 1000} s`,
    );
    loading.abort(new Error(signal));
  });
  const requests = new RequestLog((line) => {
    log.verbose(line);
  });
  log.onChange(() => {
    requests.set(log.isVerbose);
  });
  try {
    for (const text of settings.ignored) log.info(`ignored ${text}`);
    prepareEndpoints(settings);
    const loaded = await load(settings, log, loading.signal);
    log.table(modelTable(loaded.server.index()));
    if (loaded.failed > 0 && settings.exitOnError) {
      const models = loaded.failed === 1 ? '1 model' : `${loaded.failed} models`;
      log.error(`creating server: ${models} could not be loaded (--exit-on-error=false serves the others)`);
      await loaded.server.close({ timeoutMs: 0 });
      return 1;
    }
    requests.set(log.isVerbose);
    let endpoints: readonly Endpoint[];
    try {
      endpoints = await startEndpoints(loaded.server, settings, log);
    } catch (error) {
      await loaded.server.close({ timeoutMs: 0 });
      throw error;
    }
    await came;
    return await drain(loaded, endpoints, settings, log);
  } catch (error) {
    if (loading.signal.aborted && error instanceof TritonError && error.code === 'CANCELLED') return 0;
    log.error(`creating server: ${textOf(error)}`);
    return 1;
  } finally {
    requests.set(false);
    forget();
  }
}

function textOf(error: unknown): string {
  return error instanceof TritonError ? `${error.code}: ${error.message}` : String(error);
}

/** What the command line says; undefined where it asks for help. */
function read(args: readonly string[]): ServeSettings | undefined {
  const values = parseFlags(args.includes('--help') || args.includes('-h') ? ['--help'] : args);
  return values.has('help') ? undefined : settingsOf(values);
}

/**
 * Runs the command. It ends after SIGTERM or SIGINT, or when it cannot start.
 *
 * @param args - What comes after `serve`.
 * @returns The exit code.
 */
export async function serve(args: readonly string[]): Promise<number> {
  let settings: ServeSettings | undefined;
  try {
    settings = read(args);
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    console.error(
      printable(`${error.message.replaceAll(/^/gm, 'tritonts serve: ')}\nSee tritonts serve --help`),
    );
    return 2;
  }
  if (settings === undefined) {
    console.log((await import('./help.js')).helpText());
    return 0;
  }
  if (settings.http === undefined && settings.grpc === undefined && settings.metrics === undefined) {
    console.error('tritonts serve: nothing is to be served: neither HTTP nor gRPC nor metrics');
    return 2;
  }
  let log: Log;
  try {
    log = await Log.open(settings.log);
  } catch (error) {
    console.error(printable(`tritonts serve: ${textOf(error)}`));
    return 1;
  }
  try {
    return await run(settings, log);
  } finally {
    await log.close();
  }
}

/** `tritonts serve`: runs a server and its endpoints, from the command line to the signal that ends them. */

import { resolve } from 'node:path';
import { TritonError } from '../../errors.js';
import { printable } from '../../printable.js';
import { isStoreAddress } from '../../registry/sources/store/store-place.js';
import { createServer } from '../../server/creation/create-server.js';
import type { InferenceServer } from '../../server/inference-server.js';
import { packageVersion } from '../../version.js';
import type { Endpoint } from './endpoint.js';
import { closeEndpoints, prepareEndpoints, startEndpoints } from './endpoints.js';
import { Launcher } from './launcher.js';
import { LoadLog } from './load-log.js';
import { Log } from './log.js';
import { modelTable } from './model-table.js';
import { parseFlags } from './parse-flags.js';
import { RequestLog } from './request-log.js';
import { settingsOf, type ServeSettings } from './settings.js';

/** How long answers may take to be sent after their requests have ended, in milliseconds. */
const lastAnswersMs = 2000;

/**
 * What ends the server: SIGHUP is of a terminal that is closed, SIGQUIT of its Ctrl-\, SIGBREAK of Ctrl-Break on Windows. Node would end
 * without a word.
 */
const endSignals = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGBREAK'] as const;

/**
 * Waits for the first signal, or for the end of the package manager that runs the command. As in Triton,
 * further signals have no effect: a terminal's Ctrl-C arrives twice if npx passes it on.
 *
 * @param onEnd - Called at once, with the reason.
 */
function firstEnd(onEnd: (what: string) => void): {
  readonly came: Promise<void>;
  readonly forget: () => void;
} {
  let forget = (): void => undefined;
  const came = new Promise<void>((resolve) => {
    let seen = false;
    const end = (what: string): void => {
      if (seen) return;
      seen = true;
      onEnd(what);
      resolve();
    };
    const listener = (signal: NodeJS.Signals): void => {
      end(`Signal (${signal}) received`);
    };
    const launcher = new Launcher((what) => {
      end(`${what}, which started this process, has ended`);
    });
    for (const signal of endSignals) process.on(signal, listener);
    forget = () => {
      launcher.end();
      for (const signal of endSignals) process.off(signal, listener);
    };
  });
  return {
    came,
    forget: () => {
      forget();
    },
  };
}

/** A server whose models are loaded, with the number of models that failed. */
interface Loaded {
  readonly server: InferenceServer;
  readonly failed: number;
}

async function load({ server: options }: ServeSettings, log: Log, signal: AbortSignal): Promise<Loaded> {
  const failed = new Set<string>();
  const { logger } = log;
  const loads = new LoadLog((line) => {
    log.info(line);
  });
  const server = await createServer({
    ...options,
    signal,
    onProgress: (event) => {
      loads.step(event);
    },
    logger: {
      ...logger,
      error: (message, context) => {
        logger.error(message, context);
        if (context.model !== undefined) failed.add(context.model);
      },
    },
  });
  // Later failures do not count: their callers are told.
  return { server, failed: failed.size };
}

/**
 * Refuses new requests, and waits for those in progress. Endpoints answer until the end; readiness is 503
 * meanwhile.
 */
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

/** The version, platform and folders: the facts that a reader of a log needs first. */
function startText({ server: { modelRepository = [], backendDirectory } }: ServeSettings): string {
  const folders = [modelRepository].flat().map((folder) => {
    const text = String(folder);
    return isStoreAddress(text) ? text : resolve(text);
  });
  const noun = folders.length === 1 ? 'model repository' : 'model repositories';
  const backends = backendDirectory === undefined ? '' : `; backends in ${resolve(String(backendDirectory))}`;
  return `tritonts ${packageVersion}, Node ${process.version}, ${process.platform}-${process.arch}; ${noun} ${folders.join(', ')}${backends}`;
}

/** Loads the models, serves, and waits for the end. Returns the exit code. */
async function run(settings: ServeSettings, log: Log): Promise<number> {
  const loading = new AbortController();
  const { came, forget } = firstEnd((what) => {
    log.info(`${what}: new requests are refused, those under way have ${settings.exitTimeoutMs / 1000} s`);
    loading.abort(new Error(what));
  });
  const requests = new RequestLog((line) => {
    log.verbose(line);
  });
  log.onChange(() => {
    requests.set(log.isVerbose);
  });
  try {
    for (const text of settings.ignored) log.info(`ignored ${text}`);
    log.info(startText(settings));
    const prepared = await prepareEndpoints(settings);
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
      endpoints = await startEndpoints(loaded.server, prepared, log);
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

/** Reads the command line; undefined if it asks for help. */
function read(args: readonly string[]): ServeSettings | undefined {
  const values = parseFlags(args.includes('--help') || args.includes('-h') ? ['--help'] : args);
  return values.has('help') ? undefined : settingsOf(values);
}

/**
 * Runs the command. It ends after a signal, or when it cannot start.
 *
 * @param args - The arguments after `serve`.
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
  const { http, grpc, metrics, openAI } = settings;
  if ((http ?? grpc ?? metrics ?? openAI) === undefined) {
    console.error(
      'tritonts serve: no endpoint is enabled; enable one with --allow-http, --allow-grpc or --allow-metrics',
    );
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

/** Lets `npx tritonts top` read a server of this process through a socket of this machine, without a port. */

import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import { connect } from 'node:net';
import { chmod, link, lstat, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expected, readOptions } from '../argument-checks.js';
import { invalidArgument, TritonError, unavailable } from '../errors.js';
import type { ModelStatistics, ModelStatus } from '../api/metadata.js';
import { thrownText } from '../thrown-text.js';
import { instancesOf, type InstanceGroups } from './instances.js';
import { Turns } from './turns.js';

/** A server that can be read: an `InferenceServer`. Its types are loose, so that this module needs few others. */
export interface TopServer {
  /** Whether all models are ready. */
  readonly ready: boolean;
  /** The server's name and version. */
  metadata(): TopAnswer['server'];
  /** The models with their states. */
  index(): readonly ModelStatus[];
  /** The statistics of all versions. */
  statistics(): readonly ModelStatistics[];
  /** The configuration of a version, of which the instances are read. */
  model(name: string, version: string): { readonly config: InstanceGroups };
  /** Prometheus' text format. */
  scrape(): Promise<string>;
}

/** Options of {@link serveTop}. */
export interface ServeTopOptions {
  /**
   * The path of the Unix socket, or on Windows of the named pipe, which begins with `\\.\pipe\` (default: a new one in the
   * folder for temporary files).
   */
  readonly path?: string | undefined;
}

/** A socket through which a server is read. */
export interface TopEndpoint {
  /** The path of the socket: `npx tritonts top <path>`. */
  readonly path: string;
  /** Closes the socket and removes its file. Idempotent. */
  close(): Promise<void>;
}

/** What a request to the socket is answered with, as JSON. */
export interface TopAnswer {
  /** When the statistics were read, in milliseconds of a clock that never goes back. */
  readonly atMs: number;
  readonly server: { readonly name: string; readonly version: string };
  readonly ready: boolean;
  readonly index: readonly ModelStatus[];
  readonly statistics: readonly ModelStatistics[];
  /** Prometheus' text. */
  readonly metrics: string;
  /** How many instances served versions have, as lists of name, version and number. */
  readonly instances: readonly (readonly [name: string, version: string, count: number])[];
}

/** The path that is asked for over HTTP. */
export const topRequestPath = '/top';

/** A few views at once are enough. */
const mostConnections = 16;

/** Addresses of sockets are longer on no system that is supported, in bytes: macOS has 104 with the end. */
const mostPathBytes = 103;

/** Where a socket is made, below the folder of its path. */
const making = '.tXXXXXX/s';

const isWindows = process.platform === 'win32';

function checkOptions(options: unknown): string {
  const { path } = readOptions<ServeTopOptions>(options, ['path'], 'top options');
  if (path === undefined) {
    const name = `tritonts-${process.pid}-${randomBytes(4).toString('hex')}`;
    return isWindows ? `\\\\.\\pipe\\${name}` : shortEnough(join(tmpdir(), `${name}.sock`));
  }
  if (typeof path !== 'string' || path === '' || path.includes('\0'))
    throw expected('the path of a socket', 'options.path', path);
  if (isWindows) {
    if (!/^\\\\[.?]\\pipe\\./i.test(path))
      throw expected('the path of a named pipe, \\\\.\\pipe\\<name>,', 'options.path', path);
    return path;
  }
  return shortEnough(resolve(path));
}

function shortEnough(path: string): string {
  const bytes = Math.max(Buffer.byteLength(path), Buffer.byteLength(join(dirname(path), making)));
  if (bytes > mostPathBytes)
    throw invalidArgument(
      `options.path: expected a shorter path than '${path}', because a socket's may have ${mostPathBytes} bytes, and its folder's ${mostPathBytes - making.length - 1}`,
    );
  return path;
}

/** Reads a server. @internal */
export async function topAnswerOf(server: TopServer): Promise<TopAnswer> {
  const { name, version } = server.metadata();
  const metrics = await server.scrape();
  // All threads of the process have this clock.
  const atMs = performance.timeOrigin + performance.now();
  const statistics = server.statistics();
  return {
    atMs,
    server: { name, version },
    ready: server.ready,
    index: server.index(),
    statistics,
    metrics,
    instances: statistics.flatMap(({ name: model, version: which }): [string, string, number][] => {
      try {
        const count = instancesOf(server.model(model, which).config);
        return count === undefined ? [] : [[model, which, count]];
      } catch {
        // It was unloaded meanwhile, or several namespaces have its name.
        return [];
      }
    }),
  };
}

/**
 * Opens a socket through which `npx tritonts top <path>` shows the server. Only the user of this process may connect to
 * it, and it only reads: no request to a model, no load.
 *
 * @param server - The server to show. Closing the endpoint or the server does not close the other one.
 * @returns The endpoint, already listening.
 * @throws {@link TritonError} INVALID_ARG for wrong options, or if a file of another kind is at the path;
 *   UNAVAILABLE if the server is closed, another process listens at the path, or the system refuses the socket.
 *
 * @example
 * import { serveTop } from 'tritonts/metrics';
 * const endpoint = await serveTop(server, { path: './app.sock' }); // npx tritonts top ./app.sock
 */
export async function serveTop(server: TopServer, options: ServeTopOptions = {}): Promise<TopEndpoint> {
  // A JavaScript program may pass anything.
  const given = server as Partial<TopServer> | null;
  if (typeof given?.scrape !== 'function' || typeof given.statistics !== 'function')
    throw expected('a server', 'serveTop', server);
  const path = checkOptions(options);
  // A closed server cannot be read.
  server.metadata();
  const turns = new Turns();
  const listener: RequestListener = (request, response) => {
    request.resume();
    if (request.method !== 'GET' || request.url !== topRequestPath) {
      response.writeHead(404).end();
      return;
    }
    turns.take(request.socket, response, () => {
      topAnswerOf(server).then(
        (answer) => {
          if (!response.destroyed)
            response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(answer));
        },
        (error: unknown) => {
          if (!response.destroyed) response.writeHead(503).end(thrownText(error));
        },
      );
    });
  };
  const http = createServer(listener);
  http.maxConnections = mostConnections;
  const remove = isWindows ? await listenAtPipe(http, path) : await listenAtSocket(http, path);
  let closing: Promise<void> | undefined;
  return {
    path,
    close: () =>
      (closing ??= (async () => {
        await remove();
        await new Promise((resolve) => {
          http.close(resolve);
          http.closeAllConnections();
        });
      })()),
  };
}

function refused(path: string, cause: unknown): Error {
  return unavailable('SYSTEM_REFUSED', `the socket '${path}' cannot be opened: ${thrownText(cause)}`, {
    cause,
  });
}

function listening(http: Server, at: string): Promise<void> {
  return new Promise((resolve, reject) => {
    // This listener stays, so that later errors do not end the process.
    http.on('error', reject);
    http.listen(at, resolve);
  });
}

async function listenAtPipe(http: Server, path: string): Promise<() => Promise<void>> {
  try {
    await listening(http, path);
  } catch (error) {
    throw refused(path, error);
  }
  return () => Promise.resolve();
}

/** Errors of a connection to a socket that no process has. Others, such as a full backlog, are of a live one. */
const deadCodes: ReadonlySet<string | undefined> = new Set(['ECONNREFUSED', 'ENOENT']);

/** Whether a process has a socket, or may have: another user's cannot be asked. */
function isAlive(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const end = (is: boolean): void => {
      socket.destroy();
      resolve(is);
    };
    socket.on('connect', () => {
      end(true);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => {
      end(!deadCodes.has(code));
    });
  });
}

/** How often a place is looked at, if other processes change what is there. */
const mostTries = 5;

/**
 * Gives a socket its place. A live socket stays where it is, and so does a file of another kind; the file of a process
 * that has ended is moved away first.
 *
 * @param made - The socket's file, in a folder of its own.
 */
async function publish(made: string, path: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      // Other than a move, it replaces nothing.
      await link(made, path);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST' || tries === mostTries) throw error;
    }
    const found = await lstat(path).catch((): undefined => undefined);
    if (found === undefined) continue;
    if (!found.isSocket())
      throw invalidArgument(`options.path: '${path}' is not a socket, and is left as it is`);
    if (await isAlive(path)) throw taken(path);
    const old = `${made}.old`;
    await rename(path, old).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    });
    if (await isAlive(old)) {
      // Another process has put its socket there meanwhile.
      await link(old, path);
      throw taken(path);
    }
    await rm(old, { force: true });
  }
}

function taken(path: string): TritonError {
  return unavailable('SYSTEM_REFUSED', `another process listens at the socket '${path}'`);
}

/**
 * Listens at a Unix socket that only this user may connect to. It is made in a folder of its own and then linked, so that
 * it never has the permissions of the umask at its place. The file of a process that has ended is replaced.
 *
 * @returns Removes the file.
 */
async function listenAtSocket(http: Server, path: string): Promise<() => Promise<void>> {
  let folder: string | undefined;
  let own: { readonly ino: number; readonly dev: number };
  try {
    folder = await mkdtemp(join(dirname(path), '.t'));
    const made = join(folder, 's');
    await listening(http, made);
    await chmod(made, 0o600);
    own = await lstat(made);
    await inTurn(() => publish(made, path));
  } catch (error) {
    http.close();
    throw error instanceof TritonError ? error : refused(path, error);
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }
  return async () => {
    // Another server may have taken the place by now.
    const now = await lstat(path).catch((): undefined => undefined);
    if (now?.ino === own.ino && now.dev === own.dev) await rm(path, { force: true });
  };
}

let lastPublished: Promise<void> = Promise.resolve();

/** Sockets of this thread get their places one after the other, so that none is moved away by another one. */
function inTurn(publishes: () => Promise<void>): Promise<void> {
  const published = lastPublished.then(publishes);
  lastPublished = published.catch(() => undefined);
  return published;
}

/** Starts a server. */

import { Dispatcher } from '../dispatch/dispatcher.js';
import { checkObject } from '../checks.js';
import { invalidArgument, TritonError } from '../errors.js';
import { lazy } from '../lazy.js';
import type { ServerOptions } from '../options.js';
import { takeOptions } from './given-options.js';
import { InferenceServer, newServer } from './inference-server.js';

/**
 * Starts a server: reads model repositories in Triton's layout and loads the models.
 *
 * @param source - Folder of models, or several, as paths or file URLs; a model file (`digits.onnx`) is served under its
 *   name, as version 1. All that is given is copied before this returns, and
 *   relative paths start at what is the working directory then.
 * @returns The server, when the models that it should load are ready.
 * @throws {TritonError} INVALID_ARG for wrong options, NOT_FOUND for a folder that is not there, CANCELLED by
 *   `options.signal`; if models cannot be loaded, one error that lists each with its reason, with an AggregateError of
 *   them as `cause`. It rejects as well with what `options.onProgress` throws. Everything is released then.
 *
 * @example
 * const server = await createServer('./models');
 * const { outputs } = await server.model('digits').infer({ image: new Float32Array(64) });
 * await server.close();
 */
export function createServer(
  source: string | URL | readonly (string | URL)[],
  options?: Omit<ServerOptions, 'modelRepository'>,
): Promise<InferenceServer>;
/**
 * Starts a server, with everything in one object.
 *
 * @throws {TritonError} As with a source of its own.
 *
 * @example
 * const server = await createServer({ modelRepository: ['./models', './more'], modelControlMode: 'explicit' });
 */
export function createServer(options: ServerOptions): Promise<InferenceServer>;
export function createServer(
  source: string | URL | readonly (string | URL)[] | ServerOptions,
  options?: Omit<ServerOptions, 'modelRepository'>,
): Promise<InferenceServer> {
  return create(source, options);
}

// The class is not to know this module, which knows it.
Object.defineProperty(InferenceServer, 'create', { value: createServer });

/** Half of the package's modules, which neither an import nor an attached server needs. */
const creation = lazy(() =>
  Promise.all([
    import('../resolve-options.js'),
    import('../addon/server.js'),
    import('../registry/registry.js'),
    import('./devices.js'),
  ]),
);

async function create(
  source: string | URL | readonly (string | URL)[] | ServerOptions,
  options?: Omit<ServerOptions, 'modelRepository'>,
): Promise<InferenceServer> {
  const isSource = typeof source === 'string' || source instanceof URL || Array.isArray(source);
  if (!isSource && options !== undefined) {
    throw invalidArgument('options are given twice: as the first argument and as the second');
  }
  if (options !== undefined) {
    checkObject(options, 'options');
    if ('modelRepository' in options) {
      throw invalidArgument(
        'the model repository is given twice: as the first argument and as options.modelRepository',
      );
    }
  }
  // Array.isArray does not narrow readonly arrays.
  const given = isSource
    ? { ...options, modelRepository: source as string | URL | readonly (string | URL)[] }
    : (source as ServerOptions);
  const taken = takeOptions(given);
  const [{ resolveOptions }, { createEngine }, { Registry }, { usableDevices }] = await creation();
  const resolved = resolveOptions(taken.options, taken.workingDirectory);
  const { signal } = resolved;
  throwIfAborted(signal);
  const native = createEngine(resolved);
  const registry = new Registry(native, resolved);
  const dispatcher = Dispatcher.attach(native, resolved);
  const server = newServer({
    native,
    dispatcher,
    registry,
    explicit: resolved.modelControlMode === 'explicit',
    captureStacks: resolved.captureStacks,
    repositories: [...resolved.repositories, ...resolved.models.keys()],
    devices: () => usableDevices(resolved),
  });
  const giveUp = (): void => {
    registry.giveUp();
    // Also ends loads that do not return; the error of the signal is the one that counts.
    server.close({ timeoutMs: 0 }).catch(() => undefined);
  };
  signal?.addEventListener('abort', giveUp, { once: true });
  try {
    await registry.scan();
    throwIfAborted(signal);
    await registry.loadAll();
    throwIfAborted(signal);
    return server;
  } catch (error) {
    await server.close({ timeoutMs: 0 }).catch(() => undefined);
    throwIfAborted(signal);
    throw error;
  } finally {
    signal?.removeEventListener('abort', giveUp);
  }
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new TritonError('CANCELLED', 'starting the server was given up by its signal', {
      cause: signal.reason,
    });
  }
}

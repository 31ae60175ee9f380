/** A server whose models come from sources of the test. */

import { createEngine } from '../../../src/addon/engine.js';
import { EngineConnection } from '../../../src/dispatch/engine-connection.js';
import { unavailable } from '../../../src/errors.js';
import type { InferenceServer, ServerOptions } from '../../../src/index.js';
import { Registry } from '../../../src/registry/registry.js';
import { resolveOptions } from '../../../src/resolve-options.js';
import { newServer } from '../../../src/server/inference-server.js';
import { ownHandle } from '../../../src/server-handle.js';
import type { ModelSource } from '../../../src/registry/sources/model-source.js';
import type { Context } from '../../support/harness.js';

/** A server in explicit mode, unless it is said otherwise, whose sources these are. */
export async function serve(
  t: Context,
  source: ModelSource | readonly ModelSource[],
  given: Partial<ServerOptions> = {},
): Promise<InferenceServer> {
  const sources = [source].flat();
  // The options need a repository that nobody reads.
  const options = resolveOptions({ modelRepository: '.', modelControlMode: 'explicit', ...given });
  const native = createEngine({ ...options, spinCores: 0 });
  const { captureStacks, strictReadiness, metrics } = options;
  const trace = new SharedArrayBuffer(4);
  const shared = { captureStacks, name: options.id, strictReadiness, metrics, trace, lazyChannel: '' };
  const host = {
    handle: ownHandle(native, shared),
    server: (): InferenceServer => {
      throw unavailable('CLOSED', 'models of this test call no others');
    },
    wake: (): Promise<void> => Promise.resolve(),
  };
  const registry = new Registry(native, options, host, sources);
  const connection = EngineConnection.attach(native, options);
  const server = newServer({
    ...{
      native,
      connection,
      registry,
      explicit: true,
      repositories: sources.map(({ place }) => place),
      devices: () => ['cpu'],
    },
    ...shared,
    waiting: 2 ** 20,
    tracing: undefined,
  });
  t.after(() => server.close({ timeoutMs: 0 }));
  await registry.scan();
  await registry.loadAll();
  return server;
}

/** A promise, and what resolves it. */
export function gate(): { readonly promise: Promise<void>; readonly open: () => void } {
  let open = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    open = resolve;
  });
  return {
    promise,
    open: () => {
      open();
    },
  };
}

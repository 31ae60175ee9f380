/** Opens a version whose instances are threads or processes: lets its model complete the configuration. */

import type { NativeServer } from '../addon/native/server.js';
import {
  completeWithOwn,
  readModelConfigJson,
  type ModelConfig,
  type ParsedConfig,
} from '../config/index.js';
import { TritonError, withModel } from '../errors.js';
import { noteLoaded, noteOpened, noteOpening, type RunningVersion } from '../javascript/versions/versions.js';
import type { OpenedInstances, VersionSource } from './version-source.js';

/** A version that its instances belong to, before the engine has it. */
interface OpeningVersion extends RunningVersion {
  /** What the model says of its configuration; undefined: nothing. */
  complete(config: ModelConfig): Promise<unknown>;
  start(config: ModelConfig): Promise<void>;
}

/** The function by which a model completes its configuration. */
type CompletedBy = 'completeConfig' | 'auto_complete_config';

/**
 * See the head of this file.
 *
 * @param by - The function by which the model may complete its configuration (default: it has none).
 * @throws {@link TritonError} INVALID_ARG for a configuration that makes no sense, and whatever the model throws. The version is
 *   ended then.
 */
export async function openInstances(
  {
    server,
    prepared,
    parsed,
    host: { signal },
  }: Pick<VersionSource, 'server' | 'prepared' | 'parsed' | 'host'>,
  version: OpeningVersion,
  by?: CompletedBy,
): Promise<OpenedInstances> {
  const cancel = (): void => {
    version.cancel();
  };
  const end = (uid: number | undefined): Promise<void> => {
    if (uid === undefined) signal.removeEventListener('abort', cancel);
    return settle(server, version, uid);
  };
  noteOpening(server, version);
  if (signal.aborted) cancel();
  else signal.addEventListener('abort', cancel, { once: true });
  try {
    const asks = by !== undefined && prepared.context.autoComplete;
    const own = asks ? await version.complete(prepared.config) : undefined;
    return {
      prepared:
        own === undefined || by === undefined
          ? prepared
          : completeWithOwn(prepared, parsed, readOwn(prepared.context.modelName, own, by), by),
      settings: { inboxes: String(version.inboxes) },
      start: (config) =>
        version.start(config).finally(() => {
          signal.removeEventListener('abort', cancel);
          noteLoaded(server, version);
        }),
      settle: end,
    };
  } catch (error) {
    await end(undefined);
    throw error;
  }
}

async function settle(server: NativeServer, version: RunningVersion, uid: number | undefined): Promise<void> {
  if (uid !== undefined) {
    noteOpened(server, version, uid);
    return;
  }
  noteLoaded(server, version);
  await version.end();
}

function readOwn(model: string, value: unknown, by: CompletedBy): ParsedConfig {
  try {
    return readModelConfigJson({ file: `${by} of model '${model}'`, value });
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    throw withModel(error, model);
  }
}

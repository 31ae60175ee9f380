/** The repository agents of a server: they begin with the load of a model, and end with its versions. */

import type { NativeServer } from '../../addon/native/server.js';
import { readModelConfig, type ModelConfigInput } from '../../config/index.js';
import { TritonError, withModel } from '../../errors.js';
import type { ModelKey } from '../../model-key.js';
import type { ResolvedOptions } from '../../options.js';
import { timed } from '../../metrics/load-times.js';
import type { Override } from '../loading/override.js';
import { FolderSource } from '../sources/folder/folder-source.js';
import { anywhere } from '../sources/folder/link-roots.js';
import type { FoundModel, StampedFiles } from '../sources/model-source.js';
import { liveChains } from './live-chains.js';
import { AgentChain, type ChainHost, type During } from './agent-chain.js';

/** A model whose agents have been called. */
export interface AgentsBegun {
  readonly chain: AgentChain;
  /** Where it is to be loaded from. */
  readonly found: FoundModel;
  /** What was read there, with the configuration and the stamp of the model's own folder. */
  readonly files: StampedFiles;
}

/** What tells whether a configuration may name agents, without reading it. */
const field = 'model_repository_agents';

/** See the head of this file. */
export class ModelAgents {
  readonly #server: NativeServer;
  readonly #host: ChainHost;

  constructor(server: NativeServer, options: ResolvedOptions) {
    this.#server = server;
    this.#host = {
      options,
      limitMs: options.finalizeTimeoutMs,
      ended: (chain) => void liveChains(server).delete(chain),
    };
  }

  /**
   * Calls LOAD of the agents that a model's configuration names.
   *
   * @param override - What the program gives in place of the configuration or the files.
   * @param stop - Aborted when loading is cancelled.
   * @param during - Runs their functions.
   * @returns Undefined if it names none.
   * @throws {@link TritonError} INTERNAL if an agent fails, UNSUPPORTED for files of the program, which are in no folder;
   *   CANCELLED; INVALID_ARG for a configuration that cannot be read.
   */
  async begin(
    key: ModelKey,
    { source, model }: FoundModel,
    files: StampedFiles,
    override: Pick<Override, 'config' | 'files' | 'code'> | undefined,
    stop: AbortSignal,
    during: During,
  ): Promise<AgentsBegun | undefined> {
    const config = override ? override.config.value : writtenConfig(key.name, files);
    if (!config?.model_repository_agents?.agents?.length) return undefined;
    if (override?.files ?? override?.code) {
      throw new TritonError(
        'UNSUPPORTED',
        `model '${key.name}': repository agents work on a model's folder, and this model's files are given by the program`,
        { model: key.name },
      );
    }
    const chain = new AgentChain(this.#host, key, model.path);
    liveChains(this.#server).add(chain);
    await timed(this.#server, 'agents', () => chain.load(config, stop, during));
    const { movedTo } = chain;
    if (movedTo === undefined) return { chain, found: { source, model }, files };
    try {
      // The folder of a model that is a single file has versions, as any other.
      const { file: _, ...folder } = model;
      const source = new FolderSource(this.#server, movedTo, anywhere);
      const moved = { source, model: { ...folder, path: movedTo } };
      const read = await moved.source.read(moved.model, stop);
      return { chain, found: moved, files: { ...read, config: files.config, stamp: files.stamp } };
    } catch (error) {
      await chain.fail(during);
      throw error;
    }
  }
}

/**
 * The configuration of a repository, if it may name agents.
 *
 * @throws {@link TritonError} INVALID_ARG if it cannot be read.
 */
function writtenConfig(model: string, { config }: StampedFiles): ModelConfigInput | undefined {
  if (!config) return undefined;
  const { file, bytes } = config;
  if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(field)) return undefined;
  try {
    return readModelConfig({ file, text: bytes }).value;
  } catch (error) {
    if (!(error instanceof TritonError)) throw error;
    throw withModel(error, model);
  }
}

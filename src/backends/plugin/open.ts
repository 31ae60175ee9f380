/** Opens models of Triton's backend plug-ins, and completes their configurations with what the plug-ins say. */

import { functionsOf } from '../../addon/engine-functions.js';
import { tritonLibrary } from '../../addon/triton-library.js';
import {
  completeWithOwn,
  printConfigJson,
  readModelConfigJson,
  type ParsedConfig,
  type PreparedConfig,
} from '../../config/index.js';
import type { ResolvedOptions } from '../../options.js';
import type { OpenedInstances, VersionSource } from '../version-source.js';

/**
 * Opens a version of a plug-in's model: its native side initialises it.
 *
 * @param library - The path of the plug-in's file.
 */
export function openPlugin(source: VersionSource, name: string, library: string): OpenedInstances {
  const { server, options, prepared, backend } = source;
  return {
    prepared,
    settings: {
      library,
      own_library: tritonLibrary(),
      backend: name,
      backend_config: backendMessage(name, options),
      config: printConfigJson(prepared.config, 0),
      auto_complete: String(options.autoCompleteConfig),
      repository: backend.modelDirectory ?? '',
      engine: String(functionsOf(server).engineId()),
      server: String(server.id()),
    },
    start: () => Promise.resolve(),
    settle: () => Promise.resolve(),
  };
}

/** The message of TRITONBACKEND_BackendConfig. All values are texts, as Triton's are of the command line. */
function backendMessage(name: string, options: ResolvedOptions): string {
  const { backendConfig, backendDirectory, autoCompleteConfig, minSupportedComputeCapability } = options;
  const given = Object.entries(backendConfig[name] ?? {});
  return JSON.stringify({
    cmdline: {
      'auto-complete-config': String(autoCompleteConfig),
      ...(backendDirectory !== undefined && { 'backend-directory': backendDirectory }),
      'min-compute-capability': minSupportedComputeCapability.toFixed(6),
      'default-max-batch-size': '4',
      ...Object.fromEntries(given.map(([key, value]) => [key, String(value)])),
    },
  });
}

/** What a plug-in said of a model while it was loaded. */
export interface SaidByPlugin {
  /** The configuration that it set, as JSON; '' if it set none. */
  readonly config: string;
  /** The instance groups that it prefers, as a JSON list; '' if it has no preference. */
  readonly instanceGroups: string;
}

/** The fields that TRITONBACKEND_ModelSetConfig completes, as in Triton. */
const completed = ['max_batch_size', 'input', 'output', 'model_transaction_policy'] as const;
const schedulers = ['dynamic_batching', 'sequence_batching', 'ensemble_scheduling'] as const;

/**
 * The configuration with what a plug-in said of it.
 *
 * @throws {@link TritonError} INVALID_ARG for a configuration that makes no sense.
 */
export function completeWithPlugin(
  prepared: PreparedConfig,
  parsed: ParsedConfig | undefined,
  { config, instanceGroups }: SaidByPlugin,
): PreparedConfig {
  const value = {
    ...changedFields(prepared, config),
    ...preferredGroup(prepared, parsed, instanceGroups),
  };
  if (Object.keys(value).length === 0) return prepared;
  const by = 'TRITONBACKEND_ModelSetConfig';
  const file = `${by} of model '${prepared.context.modelName}'`;
  const own = readModelConfigJson({ file, value });
  // The groups are the backend's wish, not the model's.
  const attribute = `TRITONBACKEND_GetBackendAttribute of backend '${prepared.config.backend}'`;
  const positionOf: typeof own.positionOf = (path) =>
    path.startsWith('instance_group') ? { line: 0, column: 0, file: attribute } : own.positionOf(path);
  return completeWithOwn(prepared, parsed, { ...own, positionOf }, by);
}

/** The fields of the configuration that the plug-in has changed. */
function changedFields({ config }: PreparedConfig, text: string): Record<string, unknown> {
  if (text === '') return {};
  // The native side has read it as JSON, and Triton's form has an object.
  const said = JSON.parse(text) as Readonly<Record<string, unknown>>;
  const before = JSON.parse(printConfigJson(config, 0)) as Readonly<Record<string, unknown>>;
  const isScheduled = schedulers.some((field) => config[field] !== undefined);
  const fields = isScheduled ? completed : [...completed, 'dynamic_batching'];
  return Object.fromEntries(
    fields
      .filter((field) => said[field] !== undefined && said[field] !== null)
      .filter((field) => JSON.stringify(said[field]) !== JSON.stringify(before[field]))
      .map((field) => [field, said[field]]),
  );
}

/** The first group that the plug-in prefers and that can be had, if the configuration has none. */
function preferredGroup(
  { context, config }: PreparedConfig,
  parsed: ParsedConfig | undefined,
  text: string,
): Record<string, unknown> {
  if (text === '' || (parsed?.value.instance_group?.length ?? 0) > 0) return {};
  // The native side wrote it.
  const groups = JSON.parse(text) as readonly { readonly kind: string; readonly gpus?: readonly number[] }[];
  const usable = context.gpus(config.backend)?.usable ?? [];
  const onGpus = context.instanceKind !== 'cpu' && usable.length > 0;
  const group = groups.find(
    ({ kind, gpus = [] }) =>
      kind === 'KIND_CPU' ||
      kind === 'KIND_AUTO' ||
      (kind === 'KIND_GPU' && onGpus && gpus.every((id) => usable.includes(id))),
  );
  return group === undefined ? {} : { instance_group: [group] };
}

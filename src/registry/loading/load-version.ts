/** Loads one version of a model into the engine. */

import { insistOnAnswer } from '../../addon/memory.js';
import { dirname, sep } from 'node:path';
import { keepBytes } from '../../addon/native-bytes.js';
import type { NativeBytes } from '../../addon/native/folder.js';
import type { NativeServer } from '../../addon/native/server.js';
import type { NativeStatus } from '../../addon/native/status.js';
import type {
  NativeDescription,
  NativeHostPolicy,
  NativeVersionConfig,
} from '../../addon/native/version-config.js';
import { statusError } from '../../addon/status.js';
import type { Backend } from '../../backends/backend.js';
import type { BackendContext } from '../../backends/context.js';
import { gpuFinder } from '../../backends/gpu-finder.js';
import { asksForPlugin, findPlugin, namesLibrary, noPlugin } from '../../backends/plugin/find-plugin.js';
import { backend as plugins, pluginBackend } from '../../backends/plugin/index.js';
import { completeWithPlugin } from '../../backends/plugin/open.js';
import { backends } from '../../backends/index.js';
import { requiredModels } from '../../backends/required-models.js';
import type { VersionHost } from '../../javascript/model-server.js';
import { endVersion, runningVersion } from '../../javascript/versions/versions.js';
import {
  finishConfig,
  type BackendDefaults,
  type CompletedBatchSize,
  fieldError,
  type ModelConfig,
  type ModelDescription,
  tritonDefaults,
  otherBackendAdvice,
  otherRuntime,
  printConfigJson,
} from '../../config/index.js';
import { TritonError } from '../../errors.js';
import { latencyPolicy } from '../../metrics/metrics-config.js';
import type { BackendConfig, ResolvedOptions } from '../../options.js';
import { customBackend, customCode, knownBackends } from '../../backends/custom-backends.js';
import { readChatTemplate } from '../files/chat-template.js';
import { readLabels } from '../files/labels.js';
import { fileSettings, findModelFile } from '../files/model-file.js';
import type { ModelCode } from '../../javascript/model-code.js';
import type { LocalFiles } from '../sources/model-source.js';
import { releaseFiles } from '../sources/held-files.js';
import type { PreparedModel } from './prepare-model.js';
import { deviceOf, instancesOf, nativeInstances } from './instances.js';
import { versionFiles } from './override.js';
import { readInitialStates, type InitialStates } from './initial-states.js';
import { timed } from '../../metrics/load-times.js';
import { tensorSpecs } from './tensor-specs.js';
import { readWarmup, type Warmup } from './warmup.js';
import { faultOfCode, faultOfFiles, linkedWeights, readLinkedFile } from '../files/unfit-file.js';
import { isCached, withoutCache } from '../../cache-config.js';
import { identifier } from './identify.js';
import { inlineBudgetUs } from '../../scheduling/inline-budget.js';
import { blamedResource, withoutLimiter } from '../../scheduling/rate-limit.js';
import { boundCores, withoutPolicy } from '../../scheduling/host-policy.js';
import { queuePoliciesOf, rerunsInHalves, schedulingOf } from '../../scheduling/policy.js';
import { hiddenTensors, sequencePolicyOf } from '../../scheduling/sequence-policy.js';
import { tellIfLate } from '../../late.js';
import { defaultUnloadTimeoutMs } from '../../time-limit.js';
import { datatypeOfNumber } from '../../tensor/datatype.js';
import type { VersionDescriptor } from '../entries/published.js';

/** The backend that runs a model: its own, or the one that its configuration names as its runtime. */
export function runnerOf(config: ModelConfig): Backend | undefined {
  const own = backends().get(config.backend);
  const other = otherRuntime(config, own?.rules);
  return other === undefined ? own : backends().get(other.backend);
}

/** The backend that runs a version: the package's, one in JavaScript that is not the package's, or a plug-in of Triton. */
function backendOf(
  written: OpenedModel,
  options: ResolvedOptions,
  context: BackendContext,
  ownCode: ModelCode | undefined,
): Backend {
  const { config, source, context: known } = written.prepared;
  const places = { ...context, backendDirectory: options.backendDirectory };
  const wantsPlugin = asksForPlugin(context) || namesLibrary(config) || config.backend === plugins.name;
  const own = ownCode === undefined ? runnerOf(config) : customBackend(config.backend);
  if (own !== undefined && !wantsPlugin) return own;
  const library = findPlugin(places);
  if (library !== undefined) return pluginBackend(config.backend, library);
  const field = namesLibrary(config) ? 'runtime' : 'backend';
  const refused = (text: string): TritonError =>
    fieldError('INVALID_ARG', source, field, text, { model: known.modelName });
  if (wantsPlugin) throw refused(noPlugin(places));
  throw refused(
    `unknown backend '${config.backend}'; the backends are ${knownBackends(options)}${otherBackendAdvice(config.backend)}` +
      (written.parsed?.value.backend === undefined && known.modelName.endsWith(`.${config.backend}`)
        ? `. It was taken from the model's name, because no file says more: write backend: "onnxruntime", say, in config.pbtxt, or name the file model.onnx`
        : `. As a plug-in: ${noPlugin(places)}`),
  );
}

function describe({ inputs, outputs, rowsVary, mostRows }: NativeDescription): ModelDescription {
  const tensor = (native: NativeDescription['inputs'][number]): ModelDescription['inputs'][number] => ({
    name: native.name,
    datatype: datatypeOfNumber[native.datatype],
    typeName: native.typeName,
    shape: native.shape,
    optional: native.optional,
    isShapeTensor: native.isShapeTensor,
    dimNames: native.dimNames,
  });
  return {
    inputs: inputs.map(tensor),
    outputs: outputs.map(tensor),
    rowsVary: rowsVary === '' ? undefined : rowsVary,
    mostRows,
  };
}

function versionConfig(
  { config, description, warmup, initialStates, isPlugin, backend }: OpenVersion,
  options: ResolvedOptions,
  replaces: boolean,
  identity: string,
): NativeVersionConfig {
  return {
    json: printConfigJson(config, 0),
    maxBatchSize: config.max_batch_size,
    ...tensorSpecs(config, hiddenTensors(config, description), backend.rules?.ragged),
    scheduling: schedulingOf(config, options.batchAcrossShapes),
    sequences: sequencePolicyOf(config, options.batchAcrossShapes, replaces, initialStates),
    queue: queuePoliciesOf(config),
    rerunInHalves: rerunsInHalves(config),
    decoupled: config.model_transaction_policy?.decoupled ?? false,
    unloadTimeoutMs: isPlugin ? (options.workers.unloadTimeoutMs ?? defaultUnloadTimeoutMs) : undefined,
    cached: isCached(config),
    identity,
    preserveOrdering: config.dynamic_batching?.preserve_ordering ?? false,
    instances: nativeInstances(config, options.hostPolicies),
    warmup: warmup.samples,
    inlineBudgetNs: inlineBudgetUs(config, options.inline) * 1000,
    latencies: latencyPolicy(config, options.metrics),
  };
}

/** The error of a failed load, in one line and with the model's name, which a runtime does not know. */
export function loadError(status: NativeStatus, model: string, version: number): TritonError {
  const { code, reason, message: text, cause } = statusError(status);
  const line = text.trim().replaceAll(/\s*[\r\n]\s*/g, ' ');
  const message = line.startsWith(`model '${model}'`)
    ? line
    : `model '${model}', version ${version}: ${line}`;
  return new TritonError(code, message, { model, reason, cause });
}

/** `NativeServer.open` as a promise. */
function open(
  server: NativeServer,
  backend: string,
  name: string,
  version: number,
  path: string,
  settings: Readonly<Record<string, string>>,
  files: Readonly<Record<string, NativeBytes>> | undefined,
  hostPolicies: readonly (NativeHostPolicy | undefined)[],
): Promise<{ uid: number; description: NativeDescription }> {
  return new Promise((resolve, reject) => {
    const done = (error: NativeStatus | null, uid: number, description: NativeDescription): void => {
      if (error) reject(loadError(error, name, version));
      else resolve({ uid, description });
    };
    server.open(backend, name, version, path, settings, done, files, hostPolicies);
  });
}

function start(server: NativeServer, uid: number, config: NativeVersionConfig): Promise<NativeStatus | null> {
  return new Promise((resolve) => {
    server.start(uid, config, resolve);
  });
}

/**
 * Ends a version. Resolves when it is destroyed, and its files are removed if they were made for it.
 *
 * @returns Whether it was abandoned instead, because a run or a destructor of it did not return.
 */
export async function retire(server: NativeServer, uid: number): Promise<boolean> {
  runningVersion(server, uid)?.settle();
  const isAbandoned = await insistOnAnswer<boolean>((done) => {
    server.retire(uid, done);
  });
  try {
    await endVersion(server, uid);
  } finally {
    await releaseFiles(server, uid);
  }
  return isAbandoned;
}

/** A model whose versions are opened. */
export interface OpenedModel extends Pick<PreparedModel, 'prepared' | 'parsed'> {
  /** The files of the versions. */
  readonly local: LocalFiles;
  /** The model's code, if the program gave it. */
  readonly code?: ModelCode | undefined;
  /** Whether versions of the model are served already, which these will replace (default: no). */
  readonly replaces?: boolean;
  /** The model's namespace (default: the one of models without). */
  readonly namespace?: string;
}

/** A version that is open in the engine and does not serve yet. */
export interface OpenVersion {
  readonly uid: number;
  readonly config: ModelConfig;
  readonly notes: readonly string[];
  readonly batchSizeCompleted: CompletedBatchSize;
  readonly unbatched?: string | undefined;
  /** The model's tensors; undefined: unknown. */
  readonly description: ModelDescription | undefined;
  readonly takesIds: boolean;
  readonly labels: VersionDescriptor['labels'];
  readonly chatTemplate: VersionDescriptor['chatTemplate'];
  readonly instances: VersionDescriptor['instances'];
  readonly initialStates: InitialStates;
  /** Whether a plug-in of Triton runs it. */
  readonly isPlugin: boolean;
  /** The backend that runs it. */
  readonly backend: Backend;
  /** How it runs more slowly than it might, and what makes it faster. */
  readonly detour?: string | undefined;
  /** To be released. */
  readonly warmup: Warmup;
}

/**
 * Opens a version's file, completes the configuration and compares it with the file.
 *
 * @throws {@link TritonError} Any code, with the reason. Nothing of the version is left then.
 */
export async function openVersion(
  server: NativeServer,
  options: ResolvedOptions,
  { prepared: written, parsed, local, code }: OpenedModel,
  version: number,
  host: VersionHost,
): Promise<OpenVersion> {
  const { config, context, source } = written;
  const name = context.modelName;
  const ownCode = backends().has(config.backend) ? undefined : customCode(config.backend, options);
  const { directory, file: modelFile } = local;
  const files = local.files && versionFiles(local.files, version);
  const instances = instancesOf(config, options.hostPolicies);
  const hostPolicies = instances.map(({ hostPolicy }) => hostPolicy);
  const devices = instances.map(deviceOf);
  const versionDirectory = modelFile === undefined ? `${directory}${sep}${version}` : dirname(modelFile);
  const contextOf = (backendName: string): BackendContext => ({
    config: backendName === config.backend ? config : { ...config, backend: backendName },
    modelDirectory: files ? undefined : directory,
    versionDirectory: files ? undefined : versionDirectory,
    trustedFolders: options.trustedFolders,
    options: options.backendConfig[backendName] ?? {},
    cores: options.threads,
    spinCores: options.spinCores,
    fault: (field, text, code = 'INVALID_ARG') => fieldError(code, source, field, text, { model: name }),
    boundCores: boundCores(hostPolicies),
    devices,
    noGpu: () => {
      const gpus = gpuFinder(options)(backendName);
      return gpus?.usable.length === 0 ? gpus.missing().text : undefined;
    },
  });
  const usual = backendOf({ prepared: written, parsed, local }, options, contextOf(config.backend), ownCode);
  const backend = (await usual.choose?.(contextOf(usual.name), options.backendConfig)) ?? usual;
  if (code !== undefined && backend.takesCode !== true) {
    const takers = [...backends().values()].filter(({ takesCode }) => takesCode === true);
    const names = takers.map((taker) => `"${taker.name}"`).join(', ');
    const text = `expected ${names} or none, because the program gives the model's code, but found "${backend.name}"`;
    throw fieldError('INVALID_ARG', source, 'backend', text, { model: name });
  }
  const backendContext = contextOf(backend.name);
  const backendOptions = backendContext.options;
  const fileName = config.default_model_filename === '' ? backend.defaultFile : undefined;
  const withFile = fileName === undefined ? config : { ...config, default_model_filename: fileName };
  const { path, paths, missing } = findModelFile(withFile, devices, version, local, files);
  if (backend.needsFile && missing !== undefined) {
    throw new TritonError(
      'INVALID_ARG',
      `model '${name}': there is no file '${version}/${missing}' among those given`,
      { model: name },
    );
  }
  if (config.model_transaction_policy?.decoupled === true && backend.decoupled !== true) {
    const field = 'model_transaction_policy.decoupled';
    const text = `expected false, because models of the backend '${backend.name}' give one response to a request`;
    throw backendContext.fault(field, text);
  }
  const running = await backend.open?.({
    server,
    options,
    prepared: written,
    parsed,
    version,
    code,
    backendCode: ownCode,
    backend: backendContext,
    file: files ? undefined : path,
    directory: versionDirectory,
    instances,
    host,
    faultOfCode,
  });
  const prepared = running?.prepared ?? written;
  const settings = {
    ...backend.settings(backendContext),
    ...running?.settings,
    ...fileSettings(config, paths),
  };
  const native = backend.native ?? backend.name;
  const openWith = (given: typeof files): ReturnType<typeof open> =>
    tellIfLate(
      options.log,
      `model '${name}', version ${version}: its backend has not loaded it`,
      { model: name },
      open(server, native, name, version, path, settings, given, hostPolicies),
    );
  /** What is wrong with the files of a model that its backend does not open. */
  const faultBehind = async (error: TritonError): Promise<string | undefined> =>
    backend.needsFile
      ? faultOfFiles(paths.values(), files, backend.foundNoModel?.(error.message) ?? false, backend)
      : undefined;
  const unfitError = (unfit: string, cause: TritonError): TritonError =>
    new TritonError('INTERNAL', `model '${name}', version ${version}: ${unfit}`, { model: name, cause });
  const { uid, description } = await openWith(files).catch(async (error: unknown) => {
    await running?.settle(undefined);
    if (!(error instanceof TritonError)) throw error;
    const unfit = await faultBehind(error);
    if (unfit === undefined && backend.confinesWeights === true && !files && paths.size === 1) {
      const opened = await withLinkedWeights(name, path, openWith);
      if (opened !== undefined) return opened;
    }
    if (unfit !== undefined) throw unfitError(unfit, error);
    const field = backend.blame?.(error.message, backendContext);
    throw field === undefined
      ? error
      : fieldError(error.code, source, field, error.message, {
          model: name,
          reason: error.reason,
          cause: error,
        });
  });
  await running?.settle(uid);
  try {
    const described = (backend.describesModels ?? backend.needsFile) ? describe(description) : undefined;
    const found = (described && backend.reshaped?.(described, prepared.config, backendOptions)) ?? described;
    const said =
      backend.native === plugins.name ? completeWithPlugin(prepared, parsed, description) : prepared;
    const finished = finishConfig(said, found, defaultsOf(backendOptions, backend, name));
    // Where no models are served, one that calls others could not be initialised.
    if (host.handle !== undefined || requiredModels(finished.config).length === 0) {
      await running?.start(finished.config).catch(async (error: unknown) => {
        const unfit = error instanceof TritonError ? await faultBehind(error) : undefined;
        throw unfit === undefined ? error : unfitError(unfit, error as TritonError);
      });
    }
    const labels = await readLabels(finished.config, source, directory, local.files);
    const chatTemplate = await readChatTemplate(finished.config, local, version);
    const fileContext = {
      source,
      folder: directory,
      files: local.files,
      maxInFlightBytes: options.maxInFlightBytes,
    };
    const initialStates = await readInitialStates(finished.config, fileContext);
    const warmup = await readWarmup(finished.config, fileContext);
    const takesIds = running !== undefined;
    const notes = [
      ...finished.notes,
      ...(options.rateLimit === undefined ? withoutLimiter(finished.config) : []),
      ...(code !== undefined && !('url' in code) && hostPolicies.some((policy) => policy)
        ? ['it runs on the thread of the program, which host policies do not bind']
        : []),
      ...withoutPolicy(finished.config, options.hostPolicies),
      ...withoutCache(finished.config, options),
      ...(backend.notes?.({ ...server.info(uid), ...running?.info?.() }, backendContext) ?? []),
    ];
    return {
      uid,
      ...finished,
      notes,
      description: found,
      takesIds,
      labels,
      chatTemplate,
      instances: said === prepared ? instances : instancesOf(finished.config, options.hostPolicies),
      initialStates,
      isPlugin: backend.native === plugins.name,
      backend,
      ...(backend.detour !== undefined && { detour: backend.detour }),
      warmup,
    };
  } catch (error) {
    await retire(server, uid);
    throw error;
  }
}

/**
 * Opens a model whose weights are behind links from their bytes; undefined if they are not.
 *
 * @throws {@link TritonError} As `open`; UNAVAILABLE without memory.
 */
async function withLinkedWeights<T>(
  model: string,
  path: string,
  open: (files: Readonly<Record<string, NativeBytes>>) => Promise<T>,
): Promise<T | undefined> {
  const weights = await linkedWeights(path);
  if (weights === undefined) return undefined;
  const kept: Record<string, NativeBytes> = {};
  try {
    for (const [name, file] of [[path, path], ...weights] as const)
      kept[name] = keepBytes(await readLinkedFile(model, file), `model '${model}', file '${file}'`);
    return await open(kept);
  } finally {
    for (const bytes of Object.values(kept)) bytes.release();
  }
}

/** The part of a backend's configuration that completion uses. */
function defaultsOf(options: BackendConfig, backend: Backend, model: string): BackendDefaults {
  const key = 'default-max-batch-size';
  const given = options[key];
  const { defaultMaxBatchSize } = backend;
  if (given === undefined)
    return defaultMaxBatchSize === undefined ? tritonDefaults : { defaultMaxBatchSize };
  const size = Number(given);
  if (typeof given !== 'boolean' && Number.isSafeInteger(size) && size >= 0)
    return { defaultMaxBatchSize: size };
  throw new TritonError(
    'INVALID_ARG',
    `model '${model}': expected a whole number, 0 or more, for options.backendConfig.${backend.name}['${key}'] but received ${String(given)}`,
    { model },
  );
}

/**
 * Opens a version, warms it up and lets it serve.
 *
 * @param onWarmup - Called before the warm-up, if there is one. If it throws, the load ends with that error.
 * @throws {@link TritonError} Any code, with the reason. Nothing of the version is left then.
 */
export async function loadVersion(
  server: NativeServer,
  options: ResolvedOptions,
  model: OpenedModel,
  version: number,
  host: VersionHost,
  onWarmup: () => void,
): Promise<VersionDescriptor> {
  const begin = performance.now();
  const identify = await identifier(options, model, version);
  const { warmup, initialStates, description, isPlugin, backend, ...opened } = await timed(
    server,
    'open',
    () => openVersion(server, options, model, version, host),
  );
  let error: NativeStatus | null;
  let identity = '';
  try {
    identity = await identify(opened.config, options.backendConfig[backend.name] ?? {});
    if (warmup.samples.length > 0) onWarmup();
    const config = versionConfig(
      { ...opened, description, warmup, initialStates, isPlugin, backend },
      options,
      model.replaces === true,
      identity,
    );
    error = await timed(server, 'start', () => {
      const name = model.prepared.context.modelName;
      const what = `model '${name}', version ${version}: its backend has not made its instances`;
      return tellIfLate(options.log, what, { model: name }, start(server, opened.uid, config));
    });
  } catch (fault) {
    await retire(server, opened.uid);
    throw fault;
  } finally {
    warmup.release();
  }
  if (!error && opened.unbatched !== undefined) {
    const text = `it runs without batches, which is slow under load. ${opened.unbatched}`;
    options.log.warn(`model '${model.prepared.context.modelName}': ${text}`, {
      model: model.prepared.context.modelName,
    });
  }
  if (!error) return { ...opened, identity, loadSeconds: (performance.now() - begin) / 1000 };
  await retire(server, opened.uid);
  const fault = loadError(error, model.prepared.context.modelName, version);
  const field = options.rateLimit && blamedResource(opened.config, fault.message);
  if (field === undefined) throw fault;
  const { context, source } = model.prepared;
  throw fieldError(fault.code, source, field, fault.message, { model: context.modelName, cause: fault });
}

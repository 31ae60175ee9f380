/** Opens a version of a JavaScript model: finds its code, and lets it complete its configuration. */

import { pathToFileURL } from 'node:url';
import { functionsOf } from '../../addon/engine-functions.js';
import { concurrencyOf } from './concurrency.js';
import { invalidArgument, TritonError } from '../../errors.js';
import { JavaScriptVersion } from '../../javascript/versions/javascript-version.js';
import type { ModelCode } from '../../javascript/model-code.js';
import type { Connection } from '../../javascript/model-server.js';
import type { ResolvedOptions } from '../../options.js';
import { openInstances } from '../open-instances.js';
import type { OpenedInstances, VersionSource } from '../version-source.js';

/**
 * See the head of this file.
 *
 * @throws {@link TritonError} INVALID_ARG, NOT_FOUND and UNSUPPORTED for code that cannot be run, and whatever
 *   the model throws. Nothing of the version is left then.
 */
export async function openJavaScript(source: VersionSource): Promise<OpenedInstances> {
  const { options, prepared, version, backend, instances, host } = source;
  const { modelName: model } = prepared.context;
  const { code, backendCode, file, faultOfCode } = source;
  const fault = code === undefined && backendCode === undefined && file !== undefined && faultOfCode(file);
  if (fault) throw invalidArgument(`model '${model}', version ${version}: ${await fault}`, { model });
  const opened = new JavaScriptVersion({
    functions: functionsOf(source.server),
    model,
    version,
    code: codeOf(source, model),
    directory: source.code === undefined && source.file !== undefined ? source.directory : '',
    instances,
    concurrency: concurrencyOf(backend),
    cores: options.spinCores,
    workers: options.workers,
    finalizeTimeoutMs: options.finalizeTimeoutMs,
    log: options.log,
    connection: host.handle && {
      handle: host.handle,
      by: host.key,
      options: connectionOptions(options),
    },
    server: () => host.server(),
    asker: host.asker,
  });
  return openInstances(source, opened, 'completeConfig');
}

/**
 * The code of a version: of the program, of the model's file, or of its backend.
 *
 * @throws {@link TritonError} INVALID_ARG or UNSUPPORTED if there is none that can be run.
 */
function codeOf({ code, backendCode, file, prepared }: VersionSource, model: string): ModelCode {
  if (code !== undefined) return code;
  if (file === undefined) {
    if (backendCode !== undefined) {
      const text = `models of the backend '${prepared.config.backend}' cannot be given as bytes: it looks for their files in their folder`;
      throw new TritonError('UNSUPPORTED', `model '${model}': ${text}`, { model });
    }
    throw new TritonError(
      'UNSUPPORTED',
      `model '${model}': a JavaScript model cannot be given as bytes: give it as { config, module: URL }, or with its functions`,
      { model },
    );
  }
  if (backendCode !== undefined) return backendCode;
  return { url: pathToFileURL(file).href };
}

/** What threads need of the options, which can be cloned. */
function connectionOptions({
  backendConfig,
  instanceKind,
  minSupportedComputeCapability,
}: ResolvedOptions): Connection['options'] {
  return { backendConfig, instanceKind, minSupportedComputeCapability };
}

/** Loads a model's file, and makes the model of its default export. */

import { basename, extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TritonError } from '../../errors.js';
import { importFile } from '../../import-file.js';
import { findPackagesOfApp } from './app-packages.js';
import type { ModelServer } from '../../api/server.js';
import type { JavaScriptModel, ModelLogger } from '../../api/javascript-model.js';
import type { ModelExport } from '../model-code.js';
import type { InstanceSpec } from '../versions/version-spec.js';

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (typeof value === 'object' || typeof value === 'function') && value !== null;
}

function shownFile(url: string): string {
  return url.startsWith('file:') ? `'${fileURLToPath(url)}'` : url;
}

/**
 * The model that a file exports.
 *
 * @param url - The file's URL. CommonJS files export the model itself.
 * @throws {@link TritonError} INVALID_ARG for a file without a model, otherwise what the file throws.
 */
export async function importModel(model: string, url: string): Promise<ModelExport> {
  findPackagesOfApp();
  const loaded: unknown = await importFile(url).catch((error: unknown) => {
    throw withPlace(error, url);
  });
  let found: unknown = isObject(loaded) ? loaded['default'] : undefined;
  // An ES module that was compiled to CommonJS.
  if (isObject(found) && found['__esModule'] === true) found = found['default'];
  if (isModelExport(found)) return found;
  throw new TritonError(
    'INVALID_ARG',
    `model '${model}': expected the default export of ${shownFile(url)} to be a class or an object with the function execute`,
    { model },
  );
}

/**
 * The error of an import, with the place of the syntax error. Node writes the place only into the stack of some
 * errors.
 *
 * @param url - The model's file.
 */
function withPlace(error: unknown, url: string): unknown {
  if (!(error instanceof Error)) return error;
  if ('code' in error && error.code === 'ERR_UNKNOWN_FILE_EXTENSION' && error.message.includes('".ts"')) {
    const text = `${error.message}: Node ${process.versions.node} does not run TypeScript. Take Node 22.18 or newer, or compile the model to model.mjs`;
    return new TritonError('UNSUPPORTED', text, { cause: error });
  }
  if (!(error instanceof SyntaxError)) return error;
  const [, place = ''] = /^((?:(?:file:\/\/)?\/|[A-Za-z]:\\).*:\d+)\n/.exec(error.stack ?? '') ?? [];
  const file = fileURLToPath(url);
  const culprit = place.replace(/:\d+$/, '');
  const shown =
    place === ''
      ? `in ${file}, or a file that it imports: node --check ${file} shows the line`
      : `at ${place}`;
  return new SyntaxError(`${error.message} (${shown})${asCommonJs(error, file, culprit)}`, { cause: error });
}

/**
 * What to do about an ES module that Node reads as CommonJS. The package.json that `npm init` writes may make it so.
 *
 * @param file - The model's file.
 * @param culprit - The file with the error: the model's own, or one that it loads. Only CommonJS has it in a path; ES modules
 *   have none, or a URL.
 */
function asCommonJs({ message }: SyntaxError, file: string, culprit: string): string {
  if (!/^(?:Unexpected token 'export'|Cannot use import statement)/.test(message)) return '';
  const extension = extname(culprit);
  if (culprit.startsWith('file:') || (extension !== '.js' && extension !== '.cjs')) return '';
  const isOwn = culprit === file;
  const name = basename(culprit);
  const rename = `name it ${basename(culprit, extension)}.mjs${isOwn ? '' : ' also where it is loaded'}`;
  const subject = isOwn ? 'the file' : name;
  return extension === '.cjs'
    ? `. Its name makes ${subject} CommonJS: ${rename}`
    : `. The "type" of a package.json above it makes ${subject} CommonJS: ${rename}, or write "type": "module" there`;
}

/** Whether a value is a model, or a class of models. */
export function isModelExport(value: unknown): value is ModelExport {
  if (!isObject(value)) return false;
  if (typeof value !== 'function') return typeof value['execute'] === 'function';
  const { prototype }: { readonly prototype?: unknown } = value;
  return isObject(prototype) && typeof prototype['execute'] === 'function';
}

/** Makes an object of a model. */
export function makeModel(exported: ModelExport): JavaScriptModel {
  return typeof exported === 'function' ? new exported() : exported;
}

/** Warns of a function that a class has where nobody calls it. */
function warnOfUncalled(model: object, logger: ModelLogger): void {
  const { constructor }: { readonly constructor?: unknown } = model;
  if (!('completeConfig' in model) || typeof constructor !== 'function' || constructor === Object) return;
  if ('completeConfig' in constructor) return;
  logger.warn('completeConfig is not called, because it is not static: write static completeConfig(config)');
}

/**
 * Calls a model's `initialize` with its context.
 *
 * @param server - Returns the server that the model may call. It is called when the model first reads
 *   `context.server`.
 */
export async function initializeModel(
  model: JavaScriptModel,
  spec: InstanceSpec,
  logger: ModelLogger,
  server: () => ModelServer,
): Promise<void> {
  const { model: name, version, config, instance, directory } = spec;
  if (instance.index === 0) warnOfUncalled(model, logger);
  await model.initialize?.({
    name,
    version: String(version),
    config,
    instance,
    directory,
    logger,
    get server() {
      return server();
    },
  });
}

/** Backends that the program registers. They belong to this environment, and each new server takes them. */

import { addon } from '../../addon/load.js';
import { expected } from '../../argument-checks.js';
import { invalidArgument, TritonError } from '../../errors.js';
import type { ModelCode } from '../model-code.js';
import { isModelExport } from '../threads/load-module.js';
import type { JavaScriptBackend } from '../../api/javascript-model.js';

const registered = new Map<string, ModelCode>();

/** Whether a backend may have this name, which appears in `config.pbtxt` and as a folder. */
export function isBackendName(name: string): boolean {
  return /^[\w.-]+$/.test(name) && !/^\.+$/.test(name);
}

/**
 * Adds a backend in JavaScript: one class that serves every model whose configuration says
 * `backend: "<name>"`. `context.directory` is the folder of the model's version, with the model's own files.
 * Triton: a Python-based backend.
 *
 * Servers that are created later have the backend; existing servers do not. The registration belongs to this
 * environment and lasts until it ends. A folder `<backendDirectory>/<name>/model.js` does the same without code in
 * the program ({@link ServerOptions.backendDirectory}).
 *
 * @param name - Letters, digits, `_`, `-` and `.`. Not the name of a backend of the package, nor `ensemble`.
 * @param module - The file: URL of a module whose default export is the class. Then each instance has a thread. Or
 *   the class itself: then its models run on the event loop of the environment that creates the server, as one
 *   instance each. An object instead of a class is shared by all models.
 * @throws {@link TritonError} INVALID_ARG for an invalid name or module; ALREADY_EXISTS for a name that is
 *   registered; UNAVAILABLE if the addon cannot be loaded.
 *
 * @example
 * registerBackend('rules', new URL('../rules-backend.js', import.meta.url));
 * const server = await createServer('./models'); // models/spam/config.pbtxt: backend: "rules"
 */
export function registerBackend(name: string, module: URL | JavaScriptBackend): void {
  const given: unknown = name;
  if (typeof given !== 'string' || !isBackendName(given))
    throw expected('letters, digits, _, - and . for the name of a backend', 'registerBackend', given);
  if (name === 'ensemble' || addon().backends().includes(name)) {
    throw invalidArgument(`registerBackend: '${name}' is a built-in backend; choose another name`);
  }
  if (registered.has(name))
    throw new TritonError('ALREADY_EXISTS', `registerBackend: a backend '${name}' is registered already`);
  registered.set(name, codeOf(name, module));
}

function codeOf(name: string, module: unknown): ModelCode {
  if (module instanceof URL && module.protocol === 'file:') return { url: module.href };
  if (isModelExport(module)) return { model: module };
  throw invalidArgument(
    `registerBackend: backend '${name}': expected a file: URL, or a class or an object with the function execute`,
  );
}

/** The registered backends. */
export function registeredBackends(): ReadonlyMap<string, ModelCode> {
  return new Map(registered);
}

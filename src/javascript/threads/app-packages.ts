/** Lets models outside of the app's folder import packages that are installed in the app. */

import nodeModule, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errorCode } from '../../addon/load-error.js';

/** The used part of the context of Node's hook `resolve`. */
interface Context {
  readonly parentURL?: string | undefined;
  readonly conditions?: readonly string[];
}

type Resolve = (
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => unknown,
) => unknown;

/** Node 22.15 and newer have `registerHooks`, but the types for Node 20 lack it. */
interface WithHooks {
  readonly registerHooks: (hooks: { readonly resolve: Resolve }) => unknown;
}

const hasHooks = (value: object): value is WithHooks => 'registerHooks' in value;

const registerHooks = hasHooks(nodeModule) ? nodeModule.registerHooks : undefined;

/** Whether a specifier names a package, and is neither a path nor a URL. */
const isPackage = (specifier: string): boolean => /^(?:@[\w.-]+\/)?[\w-][^:\\]*$/.test(specifier);

const isAbsence = (error: unknown): boolean =>
  ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(errorCode(error) ?? '');

/** Files from which the app's packages resolve: one in the working directory, and one of this package. */
const placesOfApp = (): readonly string[] => [
  pathToFileURL(join(process.cwd(), 'index.js')).href,
  import.meta.url,
];

const resolve: Resolve = (specifier, context, next) => {
  try {
    return next(specifier, context);
  } catch (error) {
    const places = placesOfApp();
    const { parentURL } = context;
    // Imports inside of packages are left alone: a package that probes for an optional dependency must not find the
    // app's.
    if (!isPackage(specifier) || !isAbsence(error) || parentURL === undefined) throw error;
    if (places.includes(parentURL) || parentURL.includes('/node_modules/')) throw error;
    for (const place of places) {
      try {
        // Node's own resolution for `require` ignores the context's parent.
        return context.conditions?.includes('require') === true
          ? { url: pathToFileURL(createRequire(place).resolve(specifier)).href, shortCircuit: true }
          : next(specifier, { ...context, parentURL: place });
      } catch (second) {
        if (!isAbsence(second)) throw second;
      }
    }
    throw error;
  }
};

let registered = false;

/** Lets the modules of this thread find packages of the app where Node finds none, if this Node can. */
export function findPackagesOfApp(): void {
  if (registered) return;
  registered = true;
  registerHooks?.({ resolve });
}

/**
 * Advice for Node's error that a package is not installed; undefined for other values.
 *
 * @param thrown - The value that a model's file or function has thrown.
 */
export function absentPackage(thrown: unknown): string | undefined {
  if (!(thrown instanceof Error) || !isAbsence(thrown)) return undefined;
  const [, name = '', importer] =
    /^Cannot find (?:package|module) '([^']+)'(?: imported from (.+))?/.exec(thrown.message) ?? [];
  if (!isPackage(name)) return undefined;
  const from = importer ?? ('requireStack' in thrown ? String([thrown.requireStack].flat()[0]) : undefined);
  const file = from?.startsWith('file:') === true ? fileURLToPath(from) : from;
  const folder = file === undefined ? "the model's folder" : `'${dirname(file)}'`;
  const where = `install it in ${folder}, in a folder above it`;
  return `the package '${name}'${file === undefined ? '' : `, which '${file}' imports,`} is not installed: ${
    registerHooks === undefined
      ? `${where} (Node 22.15 and newer look in the app, '${process.cwd()}', too)`
      : `${where}, or in the app, '${process.cwd()}'`
  }`;
}

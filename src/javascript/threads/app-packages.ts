/** Packages that models import: those of the app are a second place for models whose folders lie outside of it. */

import nodeModule, { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { errorCode } from '../../addon/load-error.js';

/** What is used of the context of Node's hook `resolve`. */
interface Context {
  readonly parentURL?: string | undefined;
  readonly conditions?: readonly string[];
}

type Resolve = (
  specifier: string,
  context: Context,
  next: (specifier: string, context: Context) => unknown,
) => unknown;

/** Node 22.15 and newer have it, and the types of Node 20 do not know it. */
interface WithHooks {
  readonly registerHooks: (hooks: { readonly resolve: Resolve }) => unknown;
}

const hasHooks = (value: object): value is WithHooks => 'registerHooks' in value;

const registerHooks = hasHooks(nodeModule) ? nodeModule.registerHooks : undefined;

/** Whether a specifier names a package: no path, no URL. */
const isPackage = (specifier: string): boolean => /^(?:@[\w.-]+\/)?[\w-][^:\\]*$/.test(specifier);

const isAbsence = (error: unknown): boolean =>
  ['ERR_MODULE_NOT_FOUND', 'MODULE_NOT_FOUND'].includes(errorCode(error) ?? '');

/** Files that see what is installed in the app: the working directory, and where this package is installed. */
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
    // A package has its own dependencies: what it does without is not to be found all of a sudden.
    if (!isPackage(specifier) || !isAbsence(error) || parentURL === undefined) throw error;
    if (places.includes(parentURL) || parentURL.includes('/node_modules/')) throw error;
    for (const place of places) {
      try {
        // Node's own resolution for `require` does not look at the context's parent.
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
 * What to do about an error of Node that says that a package is not installed; undefined for other values.
 *
 * @param thrown - What a model's file, or one of its functions, has thrown.
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

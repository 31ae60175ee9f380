/** Finds the Python that runs a model, and explains why a Python cannot run it. */

import { existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { environmentKey, type Environment, type PythonSettings } from './settings.js';
import { isLack, unavailable, type TritonError } from '../errors.js';
import { unpacked, type Unpacked } from './environments.js';
import { run } from '../addon/own-process.js';
import { thrownText } from '../thrown-text.js';

const oldest = '3.8';
/** The release function of an environment that was not unpacked. */
const nothing = (): Promise<void> => Promise.resolve();

/** A Python, and the environment that it belongs to. */
export interface Interpreter {
  readonly path: string;
  /** The folder of its environment; undefined: no environment is configured. */
  readonly environment: string | undefined;
  /** Releases the environment, if it was unpacked. */
  readonly release: () => Promise<void>;
}

/**
 * Finds the Python of a model: in its own environment, in the backend's options, or in PATH.
 *
 * @param environment - The model's own environment; undefined: it has none.
 * @throws {@link TritonError} UNAVAILABLE if the environment is missing or has no Python.
 */
export async function findInterpreter(
  model: string,
  settings: PythonSettings,
  environment: Environment | undefined,
): Promise<Interpreter> {
  if (environment === undefined) {
    return { path: settings.executable ?? 'python3', environment: undefined, release: nothing };
  }
  const { written, path } = environment;
  const fail = (text: string, cause?: unknown): TritonError =>
    unavailable(
      isLack(cause) ? 'NO_MEMORY' : 'MISSING',
      `model '${model}': ${environmentKey} '${written}': ${text}`,
      {
        model,
        cause,
      },
    );
  if (!existsSync(path)) throw fail(`there is no '${path}'`);
  let found: Unpacked = { folder: path, release: nothing };
  if (!statSync(path).isDirectory()) {
    try {
      found = await unpacked(path);
    } catch (error) {
      throw fail(thrownText(error), error);
    }
  }
  const python = ['python3', 'python']
    .map((name) => join(found.folder, 'bin', name))
    .find((one) => existsSync(one));
  if (python === undefined) {
    await found.release();
    throw fail(`'${join(found.folder, 'bin')}' has no python3`);
  }
  return { path: python, environment: found.folder, release: found.release };
}

/** A Python interpreter, as it describes itself. */
export interface FoundPython {
  /** Its `sys.executable`. */
  readonly executable: string;
  readonly version: string;
  /** The version of its numpy; undefined: it has none. */
  readonly numpy: string | undefined;
}

const question = `import sys
print("%d.%d.%d" % tuple(sys.version_info[:3]))
print(sys.executable)
try:
    import numpy
    print(numpy.__version__)
except Exception:
    pass`;

/** Asks a Python for its version. If it cannot run models, returns a text with the reason and advice. */
export async function lookAtPython(path: string): Promise<FoundPython | string> {
  return look(path).catch((error: unknown) => doesNotRun(path, error));
}

function doesNotRun(path: string, error: unknown): string {
  return `'${path}' does not run: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`;
}

/** {@link lookAtPython}, but throws the system's error if it lacks resources for a process. */
async function look(path: string): Promise<FoundPython | string> {
  let said: string[];
  try {
    said = (await run(path, ['-c', question], { timeout: 10_000 })).trim().split('\n');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') {
      return `there is no '${path}': install Python ${oldest} or newer, such as with \`apt install python3\`, or name one in options.backendConfig.python.executable`;
    }
    if (isLack(error)) throw error;
    return doesNotRun(path, error);
  }
  const [version = 'of an unknown version', executable = path, numpy] = said;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 8)) {
    return `'${executable}' is Python ${version}, and ${oldest} is the oldest that works: name a newer one in options.backendConfig.python.executable`;
  }
  return { executable, version, numpy };
}

/**
 * Finds out why a Python did not run the stub, for messages. Throws the system's error if it lacks resources for a
 * process.
 */
export async function whyNot(path: string): Promise<string> {
  const found = await look(path);
  return typeof found === 'string' ? found : `'${found.executable}' (Python ${found.version}) ended at once`;
}

/** Finds the Python that runs a model, and explains why a Python cannot run it. */

import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { environmentKey, type Environment, type PythonSettings } from './settings.js';
import { isLack, unavailable, type TritonError } from '../errors.js';
import { unpacked, type Unpacked } from './environments.js';
import { run } from '../addon/own-process.js';
import { torchProgram } from './files.js';
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
  /** The version of its numpy; undefined: it has none, or cannot import it. */
  readonly numpy: string | undefined;
  /** Why it cannot import the numpy that it has; undefined: it can, or has none. */
  readonly numpyFault?: string | undefined;
}

/** How long a Python may take to answer. */
const answerMs = 10_000;

/** The beginning of questions. With `-c`, the working directory is the first place for packages: no code in it may run. */
const withoutWorkingDirectory = `import sys
sys.path[:] = [one for one in sys.path if one]
`;

const question = `${withoutWorkingDirectory}print("%d.%d.%d" % tuple(sys.version_info[:3]))
print(sys.executable)
try:
    import numpy
    print(numpy.__version__)
except Exception as error:
    if not isinstance(error, ModuleNotFoundError) or error.name != "numpy":
        print()
        print("%s: %s" % (type(error).__name__, " ".join(str(error).split())))`;

/** Asks a Python for its version. If it cannot run models, returns a text with the reason and advice. */
export async function lookAtPython(path: string): Promise<FoundPython | string> {
  return look(path).catch((error: unknown) => doesNotRun(path, error));
}

/** Whether a program was ended, because it took too long. */
function wasEnded(error: unknown): boolean {
  return (error as { readonly killed?: unknown } | undefined)?.killed === true;
}

function doesNotRun(path: string, error: unknown): string {
  if (wasEnded(error)) return `'${path}' does not run: it did not answer within ${answerMs / 1000} s`;
  return `'${path}' does not run: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`;
}

/** {@link lookAtPython}, but throws the system's error if it lacks resources for a process. */
async function look(path: string): Promise<FoundPython | string> {
  let said: string[];
  try {
    said = (await run(path, ['-c', question], { timeout: answerMs })).trim().split('\n');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES') {
      return `there is no '${path}': install Python ${oldest} or newer, such as with \`apt install python3\`, or name one in options.backendConfig.python.executable`;
    }
    if (isLack(error)) throw error;
    return doesNotRun(path, error);
  }
  const [version = 'of an unknown version', executable = path, numpy, numpyFault] = said;
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major < 3 || (major === 3 && minor < 8)) {
    return `'${executable}' is Python ${version}, and ${oldest} is the oldest that works: name a newer one in options.backendConfig.python.executable`;
  }
  return { executable, version, numpy: numpy === '' ? undefined : numpy, numpyFault };
}

/**
 * Finds out why a Python did not run the stub, for messages. Throws the system's error if it lacks resources for a
 * process.
 */
export async function whyNot(path: string): Promise<string> {
  const found = await look(path);
  return typeof found === 'string' ? found : `'${found.executable}' (Python ${found.version}) ended at once`;
}

/** A Python that has torch. */
export interface FoundTorch {
  /** The program that was asked. */
  readonly path: string;
  /** Its `sys.executable`. */
  readonly executable: string;
  /** The version of torch. */
  readonly version: string;
  /** The folder of its package torch. */
  readonly folder: string;
}

/** The beginning of the answer. Code that Python runs at its start may print, too. */
const answerMark = 'tritonts: ';

/** Looks for torch without importing it, which takes seconds. */
const torchQuestion = `${withoutWorkingDirectory}import importlib.util, json, os
found = {"python": "%d.%d.%d" % tuple(sys.version_info[:3]), "executable": sys.executable}
spec = importlib.util.find_spec("torch")
found["numpy"] = importlib.util.find_spec("numpy") is not None
if spec is not None and spec.origin:
    found["folder"] = os.path.dirname(os.path.realpath(spec.origin))
    names = {}
    try:
        with open(os.path.join(found["folder"], "version.py")) as file:
            exec(file.read(), names)
    except Exception:
        pass
    found["version"] = str(names.get("__version__", "of an unknown version"))
print()
print("${answerMark}" + json.dumps(found))`;

/** Asks a Python for torch. If it cannot run models of torch, returns a text with the reason and the command that helps. */
export async function lookForTorch(path: string): Promise<FoundTorch | string> {
  let said: string;
  try {
    said = await run(path, ['-c', torchQuestion], { timeout: answerMs });
  } catch (error) {
    if (isLack(error)) throw error;
    if (wasEnded(error)) return doesNotRun(path, error);
    const python = await lookAtPython(path);
    return typeof python === 'string' ? python : doesNotRun(path, error);
  }
  const answer = said.split('\n').find((line) => line.startsWith(answerMark));
  if (answer === undefined)
    return `'${path}' is no Python: it ends without an answer. Name one in backendConfig.python.executable`;
  // The statements above have written it.
  const { python, executable, folder, version, numpy } = JSON.parse(answer.slice(answerMark.length)) as {
    readonly python: string;
    readonly executable: string;
    readonly folder?: string;
    readonly version?: string;
    readonly numpy: boolean;
  };
  const missing = [...(folder === undefined ? ['torch'] : []), ...(numpy ? [] : ['numpy'])];
  if (folder !== undefined && version !== undefined && missing.length === 0)
    return { path, executable, folder, version };
  return (
    `'${executable}' (Python ${python}) has no ${missing.join(' and no ')}: install it with ` +
    `'${executable} -m pip install ${missing.join(' ')}', or name a Python that has it in backendConfig.python.executable`
  );
}

/** How long the import of torch may take: from a slow disk it takes a minute. */
const importMs = 120_000;

/** Imports torch, and numpy, with the messages of a model's process. */
const importQuestion = `${withoutWorkingDirectory}import json
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
try:
    from tritonts_torch.library import torch
    from tritonts_stub.datatypes import numpy
    numpy()
    fault = None
except Exception as error:
    fault = str(error)
print()
print("${answerMark}" + json.dumps(fault))`;

/**
 * Imports torch as a model's process does, which takes seconds.
 *
 * @returns Why it cannot be imported, and what helps; undefined if it can.
 */
export async function faultOfTorch({ path, executable, version }: FoundTorch): Promise<string | undefined> {
  const cannot = `'${executable}' cannot import torch ${version}: `;
  let said: string;
  try {
    const folder = dirname(dirname(torchProgram()));
    said = await run(path, ['-c', importQuestion, folder], { timeout: importMs });
  } catch (error) {
    if (isLack(error)) throw error;
    if (wasEnded(error)) return `${cannot}it took longer than ${importMs / 1000} s`;
    const { signal } = error as { readonly signal?: NodeJS.Signals | null };
    const why = signal ? `its process was ended by ${signal}` : lastLine(thrownText(error));
    return `${cannot}${why}; install it again with '${executable} -m pip install --force-reinstall torch'`;
  }
  const answer = said.split('\n').find((line) => line.startsWith(answerMark));
  // The statements above have written it.
  return answer === undefined
    ? `${cannot}its process ended without an answer`
    : ((JSON.parse(answer.slice(answerMark.length)) as string | null) ?? undefined);
}

function lastLine(text: string): string {
  return (text.trim().split('\n').at(-1) ?? '').trim();
}

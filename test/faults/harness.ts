/**
 * Models of the backend with faults (native/test/support/backends/fault/), which only the tests' build of the addon
 * has. Importing this file selects that build for the process.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Inputs } from '../../src/index.js';
import { configText, row, type ConfigOptions, type Context } from '../support/harness.js';
import '../support/fault-addon.js';
import { temporaryFolder, type RepositoryModel } from '../support/repository.js';

/** The names of faults, by their number in a request, as in `Fault` of the backend's header. */
const faults = [
  'none',
  'fails',
  'unavailable',
  'throws',
  'throws_other',
  'lacks_memory',
  'hangs',
  'hangs_until_terminated',
  'answers_twice',
  'answers_late',
  'never_answers',
  'wrong_rows',
  'negative_dim',
  'huge_shape',
  'unknown_output',
  'wrong_datatype',
  'too_few_bytes',
  'too_many_bytes',
  'other_thread',
  'allocates_too_much',
  'slow',
  'wrong_request',
  'held',
  'tells',
  'keeps_nothing',
  'kept_too_few_bytes',
  'kept_wrong_datatype',
  'answers_null_rows',
  'throws_at_null_row',
  'wrong_ragged_rows',
] as const;

/** A fault that a request may ask for. */
export type FaultName = (typeof faults)[number];

/**
 * A model y = x of FP32 [16] whose requests fail as they ask for. They run on threads of their own, which may
 * hang.
 */
export function faulty(options: ConfigOptions = {}): RepositoryModel {
  const inputs = [{ name: 'x' }, { name: 'fault', datatype: 'INT32', dims: [1] }] as const;
  const parameters = { inline: 'off', ...options.parameters };
  return { config: configText({ inputs, ...options, parameters, backend: 'fault' }), versions: { '1': {} } };
}

/** Inputs of a request for a fault: one row that counts up from `first`. */
export function asking(fault: FaultName, first = 0): Inputs {
  return { x: row(first), fault: Int32Array.of(faults.indexOf(fault)) };
}

/**
 * A gate on which runs wait until a test opens it. Closing the server without time for its requests also ends them.
 */
export interface Gate {
  /** The parameters of models whose 'held' requests wait at this gate. */
  readonly parameters: { readonly release_file: string };
  open(): Promise<void>;
}

/** A gate that is closed. */
export async function gate(context: Context): Promise<Gate> {
  const file = join(await temporaryFolder(context), 'release');
  return { parameters: { release_file: file }, open: () => writeFile(file, '') };
}

/** A model y = x all of whose runs wait for a gate. */
export function held({ parameters }: Gate, options: ConfigOptions = {}): RepositoryModel {
  const all = { ...options.parameters, ...parameters, inline: 'off', fault: 'held' };
  return { config: configText({ ...options, backend: 'fault', parameters: all }), versions: { '1': {} } };
}

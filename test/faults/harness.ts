/**
 * Models of the backend with faults (native/test/fault_backend.h), which only the tests' build of the addon has.
 * Importing this file chooses that build for the process.
 */
import type { Inputs } from '../../src/index.js';
import { configText, row, type ConfigOptions } from '../server/harness.js';
import '../support/fault-addon.js';
import type { RepositoryModel } from '../support/repository.js';

/** Names by the number that a request gives, as `Fault` of the backend's header. */
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
] as const;

/** What can be asked for. */
export type FaultName = (typeof faults)[number];

/** A model y = x of FP32 [16] whose requests, or all of it, go wrong as they ask; on threads of its own, which may hang. */
export function faulty(options: ConfigOptions = {}): RepositoryModel {
  const inputs = [{ name: 'x' }, { name: 'fault', datatype: 'INT32', dims: [1] }] as const;
  const parameters = { inline: 'off', ...options.parameters };
  return { config: configText({ inputs, ...options, parameters, backend: 'fault' }), versions: { '1': {} } };
}

/** Inputs of a request of one row that counts up from `first`, with a fault. */
export function asking(fault: FaultName, first = 0): Inputs {
  return { x: row(first), fault: Int32Array.of(faults.indexOf(fault)) };
}

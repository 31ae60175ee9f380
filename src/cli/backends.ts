/**
 * `tritonts backends`: lists the runtimes and devices of this machine, where they were searched, and what to
 * install.
 */

import { parseArgs } from 'node:util';
import { invalidArgument } from '../errors.js';
import { printable, printableLine } from '../printable.js';
import { checkBackendDirectory } from '../backends/custom-backends.js';
import { survey, type Survey, type SurveyedDevice, type SurveyedLibrary } from '../registry/files/survey.js';
import { resolveOptions } from '../resolve-options.js';
import { parsed } from './repository-arguments.js';

const commandOptions = {
  json: { type: 'boolean', default: false },
  library: { type: 'string' },
  'backend-directory': { type: 'string' },
  'min-supported-compute-capability': { type: 'string' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const help = `Lists the backends with their runtimes, and the devices that instances can be on: where each was found, in which
version, and what to install for those that are missing.

Usage: tritonts backends [options]

Options:
  --json                          one JSON object: { "backends": …, "cudaDriver": …, "nvml": …, "devices": … }
  --library <file>                an ONNX Runtime library to use instead of that of onnxruntime-node
  --backend-directory <folder>    the server's backendDirectory (as Triton's flag)
  --min-supported-compute-capability <number>
                                  GPUs of a lower one are not used (as Triton's flag; default: 6.0)
  --help

Exit code: 0, also where something is missing; 2 for a wrong command line.`;

/** Formats a memory size in GiB, with one decimal. */
function gib(bytes: number): string {
  return `${(bytes / 2 ** 30).toFixed(1)} GiB`;
}

/** Prints a line with a name and its state, and indented lines below. */
function print(ok: boolean, name: string, told: string, below: readonly string[]): void {
  console.log(`${ok ? 'ok     ' : 'MISSING'} ${printableLine(name)}${told === '' ? '' : `: ${told}`}`);
  for (const line of below)
    if (line !== '') console.log(`          ${printable(line).replaceAll('\n', '\n          ')}`);
}

function printLibrary(name: string, { ok, path, version, reason }: SurveyedLibrary): void {
  print(ok, name, printableLine(version), ok ? [path] : [reason]);
}

function printDevice({
  id,
  name,
  memoryBytes,
  cores,
  uuid,
  computeCapability,
  ok,
  reason,
}: SurveyedDevice): void {
  const facts = [
    name,
    ...(cores === undefined ? [] : [`${cores} cores`]),
    ...(computeCapability === undefined ? [] : [`compute capability ${computeCapability}`]),
    ...(memoryBytes > 0 ? [gib(memoryBytes)] : []),
    ...(uuid === undefined ? [] : [uuid]),
  ];
  console.log(
    `${ok ? 'ok     ' : 'UNUSED '} ${id}: ${printableLine(facts.filter((fact) => fact !== '').join(', '))}`,
  );
  if (!ok) console.log(`          ${printable(reason)}`);
}

function printSurvey({ backends: found, cudaDriver, nvml, devices }: Survey): void {
  console.log('Backends');
  for (const { name, ok, runtime, library, reason, besides, lacksOnGpus, onGpus } of found) {
    const version = library === undefined || library.version === '' ? '' : ` ${library.version}`;
    const told =
      runtime === 'none' ? 'needs no runtime' : `${runtime}${version}${onGpus ? ', on GPUs, too' : ''}`;
    print(ok, name, printableLine(told), [
      library?.path ?? '',
      reason,
      besides,
      lacksOnGpus === '' || lacksOnGpus === reason ? '' : `on the CPU only: ${lacksOnGpus}`,
    ]);
  }
  console.log('\nNVIDIA');
  printLibrary('CUDA driver', cudaDriver);
  printLibrary('NVML', nvml);
  console.log('\nDevices');
  devices.forEach(printDevice);
}

/**
 * Runs the command.
 *
 * @param args - The arguments after `backends`.
 * @returns The exit code.
 * @throws {@link TritonError} INVALID_ARG for a wrong command line, NOT_FOUND for a backend directory that does
 *   not exist.
 */
export async function backends(args: readonly string[]): Promise<number> {
  const parse = () => parseArgs({ args: [...args], options: commandOptions });
  const { values } = parsed(parse, args, commandOptions, help);
  if (values.help) {
    console.log(help);
    return 0;
  }
  const capability = values['min-supported-compute-capability'];
  if (capability !== undefined && !/^\d{1,3}(\.\d)?$/.test(capability)) {
    throw invalidArgument(
      `expected a number such as 7.5 for --min-supported-compute-capability but received '${capability}'`,
    );
  }
  const options = resolveOptions({
    // Required by the check of options; no model is read.
    modelRepository: '.',
    backendDirectory: values['backend-directory'],
    ...(values.library !== undefined && { backendConfig: { onnxruntime: { library: values.library } } }),
    ...(capability !== undefined && { minSupportedComputeCapability: Number(capability) }),
  });
  await checkBackendDirectory(options);
  const found = await survey(options);
  if (values.json) console.log(printable(JSON.stringify(found, undefined, 2)));
  else printSurvey(found);
  return 0;
}

/** The file that TF_INIT_OPS_FILE names: the operations that run once in each session. */

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { resolve } from 'node:path';
import { keyPath } from '../../config/index.js';
import type { TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import type { BackendContext } from '../context.js';
import { confined, type Place } from '../trusted-places.js';

/** The parameter that names the file. */
export const initOpsKey = 'TF_INIT_OPS_FILE';

/** A file of names has no more bytes than these. */
const mostBytes = 1024 * 1024;

/**
 * The names of the operations.
 *
 * @param written - The file, as the configuration names it. The version's folder comes before the model's.
 * @throws {@link TritonError} INVALID_ARG for a file outside of these folders, and for wrong content.
 */
export function readInitOps(context: BackendContext, written: string): readonly string[] {
  const { modelDirectory, versionDirectory } = context;
  const fault = (text: string): TritonError => context.fault(keyPath('parameters', initOpsKey), text);
  if (modelDirectory === undefined || versionDirectory === undefined)
    throw fault(`'${written}' is looked for in the model's folder, but a model given as bytes has none`);
  const places: Place[] = [
    { folder: versionDirectory, name: "the version's folder" },
    { folder: modelDirectory, name: "the model's folder" },
  ];
  const field = keyPath('parameters', initOpsKey);
  for (const { folder } of places) {
    const path = confined(context, field, resolve(folder, written), places);
    const content = readText(path, (text) => fault(`'${path}' ${text}`));
    if (content !== undefined) return namesIn(content, (text) => fault(`'${path}': ${text}`));
  }
  throw fault(`there is no file '${written}' in ${places.map(({ folder }) => `'${folder}'`).join(' or ')}`);
}

/** The content of a file; undefined if there is none. */
function readText(path: string, fault: (text: string) => TritonError): string | undefined {
  let file: number;
  try {
    // A pipe would block without this flag.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw fault(`cannot be read: ${thrownText(error)}`);
  }
  try {
    if (!fstatSync(file).isFile()) throw fault('is not a file');
    const bytes = Buffer.alloc(mostBytes + 1);
    let size = 0;
    for (let read = 1; read > 0 && size < bytes.length; size += read)
      read = readSync(file, bytes, size, bytes.length - size, null);
    if (size > mostBytes) throw fault(`has more than ${mostBytes} bytes`);
    return bytes.toString('utf8', 0, size);
  } finally {
    closeSync(file);
  }
}

/** The names in the content of a file. */
function namesIn(content: string, fault: (text: string) => TritonError): readonly string[] {
  const expected = 'expected {"init_ops": ["operation", …]}';
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw fault(`${expected}, but it is not JSON: ${thrownText(error)}`);
  }
  const names: unknown =
    typeof value === 'object' && value !== null ? (value as { init_ops?: unknown }).init_ops : undefined;
  if (!Array.isArray(names)) throw fault(`${expected}, but there is no list init_ops`);
  return names.map((name: unknown, index) => {
    // The native side gets one name on each line.
    if (typeof name === 'string' && name !== '' && !name.includes('\n')) return name;
    throw fault(`expected the name of an operation for init_ops[${index}] but found ${JSON.stringify(name)}`);
  });
}

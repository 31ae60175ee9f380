/**
 * Triton's agent `checksum`: compares files of a model with the digests in its configuration, such as
 * `parameters { key: "SHA256:1/model.onnx" value: "9f86…" }`. Files that are not named are not looked at.
 */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join, normalize, isAbsolute, sep } from 'node:path';
import { invalidArgument, TritonError } from '../../errors.js';
import { thrownText } from '../../thrown-text.js';
import type { AgentContext, RepositoryAgent } from './repository-agent.js';

/** Names of algorithms. Triton knows the first. */
const algorithms = ['md5', 'sha256', 'sha512'];

/** See the head of this file. */
export const checksum: RepositoryAgent = {
  async load({ path, isRemote, parameters, signal }: AgentContext): Promise<void> {
    if (isRemote) {
      throw new TritonError(
        'UNSUPPORTED',
        `the checksum agent reads files of this machine, and the model's are in ${path}`,
      );
    }
    for (const [key, value] of Object.entries(parameters)) {
      const colon = key.indexOf(':');
      if (colon < 0) throw invalidArgument(`failed to parse key: ${key}`);
      const algorithm = key.slice(0, colon);
      if (!algorithms.includes(algorithm.toLowerCase()))
        throw new TritonError('UNSUPPORTED', `Unsupported checksum algorithm: ${algorithm}`);
      const file = fileIn(path, key.slice(colon + 1));
      const found = await digestOf(file, algorithm.toLowerCase(), signal);
      if (found === value.toLowerCase()) continue;
      throw invalidArgument(
        `Mismatched ${algorithm.toUpperCase()} hash for file ${file}, expect: ${value}, got: ${found}`,
      );
    }
  },
};

/**
 * A file of the model.
 *
 * @throws {@link TritonError} INVALID_ARG for a path that leads out of its folder.
 */
function fileIn(folder: string, path: string): string {
  const inside = normalize(path);
  if (path !== '' && !isAbsolute(inside) && inside !== '..' && !inside.startsWith(`..${sep}`))
    return join(folder, inside);
  throw invalidArgument(`expected a file in the model's folder for a checksum but received '${path}'`);
}

/**
 * The digest of a file's content as hexadecimal text.
 *
 * @throws {@link TritonError} INVALID_ARG for what is no file or cannot be read.
 */
async function digestOf(file: string, algorithm: string, signal: AbortSignal): Promise<string> {
  const hash = createHash(algorithm);
  try {
    // A pipe may never end.
    if (!(await stat(file)).isFile()) throw new Error('it is not a regular file');
    for await (const chunk of createReadStream(file, {
      signal,
      highWaterMark: 2 ** 20,
    }) as AsyncIterable<Buffer>)
      hash.update(chunk);
  } catch (cause) {
    signal.throwIfAborted();
    throw invalidArgument(`file ${file} cannot be read for its checksum: ${thrownText(cause)}`, { cause });
  }
  return hash.digest('hex');
}

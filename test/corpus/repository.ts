/** Writes the corpus as a repository, with a model for each configuration. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expandConfig } from '../../src/config/schema/expand.js';
import { readModelConfig } from '../../src/config/text/read.js';
import { addModel } from '../support/models.js';
import type { RepositoryModel } from '../support/repository.js';
import type { Refused, Served } from './case.js';
import { modelFor } from './model-for.js';

const folder = fileURLToPath(new URL('../../../test/corpus/configs', import.meta.url));

/** Names of the corpus's folders. */
export const names: readonly string[] = readdirSync(folder)
  .filter((name) => statSync(join(folder, name)).isDirectory())
  .sort();

/** The text of a configuration of the corpus. */
export function textOf(name: string): string {
  return readFileSync(join(folder, name, 'config.pbtxt'), 'utf8');
}

/** The model folder of a configuration: its own files, and version folders with a model. */
export function laidOut(name: string, expected: Partial<Served & Refused>): RepositoryModel {
  const files = readdirSync(join(folder, name)).filter((file) => file !== 'config.pbtxt');
  return {
    config: textOf(name),
    files: {
      ...Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, name, file))])),
      ...expected.files,
    },
    versions: expected.version ?? versions(name, expected),
  };
}

function versions(name: string, expected: Partial<Served>): NonNullable<RepositoryModel['versions']> {
  const { file = 'model.onnx', folders = [1] } = expected;
  const content = file === null ? {} : { [file]: (expected.model ?? ((): Uint8Array => fitting(name)))() };
  return Object.fromEntries(folders.map((version) => [String(version), content]));
}

/** A model that fits, if the configuration can be read. For the others it does not matter. */
function fitting(name: string): Uint8Array {
  let written;
  try {
    written = readModelConfig({ file: name, text: textOf(name) }).value;
  } catch {
    return addModel();
  }
  return modelFor(expandConfig(written));
}

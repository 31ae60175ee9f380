/** The JavaScript backend's decisions. `src/javascript` runs its models on threads. */

import { parameterRow, type ModelFile } from '../../config/index.js';
import { requiresRow } from '../required-models.js';
import type { Backend } from '../backend.js';
import { openJavaScript } from './open.js';

/** A model's code. */
const code = (filename: string): ModelFile => ({ filename, entry: 'file', platforms: [] });

/** Runs models that are written in JavaScript. */
export const backend: Backend = {
  name: 'javascript',
  decoupled: true,
  needsFile: false,
  takesCode: true,
  callsModels: true,
  rules: {
    files: ['model.js', 'model.mjs', 'model.cjs', 'model.ts'].map(code),
    completesItself: true,
    ragged: 'apart',
    parameters: {
      ...requiresRow,
      max_concurrency: parameterRow(
        'acted',
        'how many batches an instance may have under way at once (not in Triton)',
        { integer: true },
      ),
    },
  },
  optionKeys: [],
  runtime: { title: `Node.js ${process.versions.node}` },
  settings(): Record<string, string> {
    return {};
  },
  open: openJavaScript,
};

/** The JavaScript backend's decisions. `src/javascript` runs its models on threads. */

import type { Backend } from '../backend.js';
import { openJavaScript } from './open.js';

/** Runs models that are written in JavaScript. */
export const backend: Backend = {
  name: 'javascript',
  decoupled: true,
  needsFile: false,
  takesCode: true,
  callsModels: true,
  optionKeys: [],
  runtime: { title: `Node.js ${process.versions.node}` },
  settings(): Record<string, string> {
    return {};
  },
  open: openJavaScript,
};

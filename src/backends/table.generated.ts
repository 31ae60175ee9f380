/** The backends of this folder. scripts/backend-tables.mjs writes this file. */

import type { Backend } from './backend.js';
import { backend as fil } from './fil/index.js';
import { backend as identity } from './identity/index.js';
import { backend as javascript } from './javascript/index.js';
import { backend as onnxruntime } from './onnxruntime/index.js';
import { backend as openvino } from './openvino/index.js';
import { backend as plugin } from './plugin/index.js';
import { backend as python } from './python/index.js';
import { backend as pytorch } from './pytorch/index.js';
import { backend as tensorflow } from './tensorflow/index.js';
import { backend as tensorrt } from './tensorrt/index.js';

/** The backends, by the order of their names. */
export const table: readonly Backend[] = [
  fil,
  identity,
  javascript,
  onnxruntime,
  openvino,
  plugin,
  python,
  pytorch,
  tensorflow,
  tensorrt,
];

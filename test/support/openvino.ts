/** Whether this machine has OpenVINO. */

import { openVinoLibrary } from '../../src/backends/openvino/library.js';
import { TritonError } from '../../src/index.js';

/** Why there is no OpenVINO; undefined if there is one. */
function missing(): string | undefined {
  try {
    openVinoLibrary({});
    return undefined;
  } catch (error) {
    if (error instanceof TritonError) return error.message;
    throw error;
  }
}

/** Whether the library of OpenVINO is found. */
export const hasOpenVino: boolean = missing() === undefined;

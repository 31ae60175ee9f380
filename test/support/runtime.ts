/**
 * The version of ONNX Runtime that tests run with. Older versions are tested, too
 * (scripts/other-runtime.mjs).
 */

import { createRequire } from 'node:module';

// Nothing else of its package.json is used.
const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as {
  readonly version: string;
};

/** The version of the `onnxruntime-node` that is installed. */
export const runtimeVersion: string = version;

/** Why a test is skipped that needs version 1.`minor`; false if the installed one is new enough. */
export function skipBefore(minor: number, what: string): string | false {
  const installed = Number(version.split('.')[1]);
  return installed < minor && `${what}: from ONNX Runtime 1.${minor} on, and ${version} is installed`;
}

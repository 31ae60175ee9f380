/** What tests need of ONNX Runtime: they also run with the older versions that are allowed (scripts/other-runtime.mjs). */

import { createRequire } from 'node:module';

// The rest of its package.json is of no interest.
const { version } = createRequire(import.meta.url)('onnxruntime-node/package.json') as {
  readonly version: string;
};

/** The version of the `onnxruntime-node` that is installed. */
export const runtimeVersion: string = version;

/** Why a test is skipped that needs version 1.`minor`; false where the installed one is new enough. */
export function skipBefore(minor: number, what: string): string | false {
  const installed = Number(version.split('.')[1]);
  return installed < minor && `${what}: from ONNX Runtime 1.${minor} on, and ${version} is installed`;
}

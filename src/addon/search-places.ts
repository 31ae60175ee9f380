/** The places where the addon is searched: the platform's package, this package, a local build. */

import { createRequire } from 'node:module';
import './own-file.js'; // Reports a missing import.meta.url.
import { packageVersion } from '../version.js';

const require = createRequire(import.meta.url);

/** A place where the addon may be. */
export interface Place {
  /** The place's name in messages. */
  readonly name: string;
  /** Returns the path of the file. Throws if the file does not exist. */
  readonly resolve: () => string;
}

// Each path is a literal, so that tools that trace or pack files can see it.
const platformPackages: Readonly<Partial<Record<string, () => string>>> = {
  'linux-x64': () => require.resolve('@tritonts/linux-x64/tritonts.node'),
  'linux-x64-musl': () => require.resolve('@tritonts/linux-x64-musl/tritonts.node'),
  'linux-arm64': () => require.resolve('@tritonts/linux-arm64/tritonts.node'),
  'linux-arm64-musl': () => require.resolve('@tritonts/linux-arm64-musl/tritonts.node'),
  'darwin-arm64': () => require.resolve('@tritonts/darwin-arm64/tritonts.node'),
  'darwin-x64': () => require.resolve('@tritonts/darwin-x64/tritonts.node'),
  'win32-x64': () => require.resolve('@tritonts/win32-x64/tritonts.node'),
  'win32-arm64': () => require.resolve('@tritonts/win32-arm64/tritonts.node'),
};
const ownFiles: Readonly<Partial<Record<string, () => string>>> = {
  'linux-x64': () => require.resolve('../../../prebuilds/linux-x64/tritonts.node'),
  'linux-x64-musl': () => require.resolve('../../../prebuilds/linux-x64-musl/tritonts.node'),
  'linux-arm64': () => require.resolve('../../../prebuilds/linux-arm64/tritonts.node'),
  'linux-arm64-musl': () => require.resolve('../../../prebuilds/linux-arm64-musl/tritonts.node'),
  'darwin-arm64': () => require.resolve('../../../prebuilds/darwin-arm64/tritonts.node'),
  'darwin-x64': () => require.resolve('../../../prebuilds/darwin-x64/tritonts.node'),
  'win32-x64': () => require.resolve('../../../prebuilds/win32-x64/tritonts.node'),
  'win32-arm64': () => require.resolve('../../../prebuilds/win32-arm64/tritonts.node'),
};

/** The places to search for a target (`linux-x64`), in order. */
export function places(target: string): readonly Place[] {
  const installed = platformPackages[target];
  const own = ownFiles[target];
  return [
    ...(installed ? [{ name: `@tritonts/${target} ${packageVersion}`, resolve: installed }] : []),
    ...(own ? [{ name: `prebuilds/${target}/tritonts.node`, resolve: own }] : []),
    {
      name: 'build/Release/tritonts.node',
      resolve: () => require.resolve('../../../build/Release/tritonts.node'),
    },
  ];
}

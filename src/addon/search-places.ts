/** Where the addon is looked for: a package for this platform, this package, a local build. */

import { createRequire } from 'node:module';
import './own-file.js'; // Where there is no import.meta.url, it says why.
import { packageVersion } from '../version.js';

const require = createRequire(import.meta.url);

/** A place where the addon may be. */
export interface Place {
  /** Its name in messages. */
  readonly name: string;
  /** Returns the path of the file. Throws if there is none. */
  readonly resolve: () => string;
}

// Each name is a literal, so that tools which trace or pack files see it.
const platformPackages: Readonly<Partial<Record<string, () => string>>> = {
  'linux-x64': () => require.resolve('@tritonts/linux-x64/tritonts.node'),
  'linux-x64-musl': () => require.resolve('@tritonts/linux-x64-musl/tritonts.node'),
  'linux-arm64': () => require.resolve('@tritonts/linux-arm64/tritonts.node'),
  'linux-arm64-musl': () => require.resolve('@tritonts/linux-arm64-musl/tritonts.node'),
  'darwin-arm64': () => require.resolve('@tritonts/darwin-arm64/tritonts.node'),
  'darwin-x64': () => require.resolve('@tritonts/darwin-x64/tritonts.node'),
  'win32-x64': () => require.resolve('@tritonts/win32-x64/tritonts.node'),
};
const ownFiles: Readonly<Partial<Record<string, () => string>>> = {
  'linux-x64': () => require.resolve('../../../prebuilds/linux-x64/tritonts.node'),
  'linux-x64-musl': () => require.resolve('../../../prebuilds/linux-x64-musl/tritonts.node'),
  'linux-arm64': () => require.resolve('../../../prebuilds/linux-arm64/tritonts.node'),
  'linux-arm64-musl': () => require.resolve('../../../prebuilds/linux-arm64-musl/tritonts.node'),
  'darwin-arm64': () => require.resolve('../../../prebuilds/darwin-arm64/tritonts.node'),
  'darwin-x64': () => require.resolve('../../../prebuilds/darwin-x64/tritonts.node'),
  'win32-x64': () => require.resolve('../../../prebuilds/win32-x64/tritonts.node'),
};

/** The places for a target (`linux-x64`), in the order in which they are tried. */
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

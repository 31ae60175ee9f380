/** The options of @electron/packager for this app. */

import { join } from 'node:path';

const folder = import.meta.dirname;

/** ONNX Runtime's package has libraries for several platforms. The app needs those of the platform that it is packed for. */
const otherPlatforms = (/** @type {string} */ platform) =>
  ['darwin', 'linux', 'win32'].filter((name) => name !== platform).join('|');

/**
 * @param {NodeJS.Platform} platform
 * @returns {import('@electron/packager').Options}
 */
export function packagerOptions(platform) {
  return {
    dir: folder,
    out: join(folder, 'out'),
    name: 'Digits',
    executableName: 'digits',
    platform,
    overwrite: true,
    // What the system's loader opens must be files, and not parts of the archive: addons, and ONNX Runtime's library. So must
    // what Python opens, which only Python models need.
    asar: { unpack: '**/*.node', unpackDir: 'node_modules/{@tritonts,onnxruntime-node/bin,tritonts/python}' },
    // The models lie beside the archive: runtimes open them by themselves.
    extraResource: [join(folder, 'models')],
    ignore: [
      /^\/(models|out|dist)$/,
      /^\/(electron-builder\.yml|packager(-options)?\.js|README\.md)$/,
      new RegExp(`^/node_modules/onnxruntime-node/bin/[^/]+/(${otherPlatforms(platform)})$`),
    ],
  };
}

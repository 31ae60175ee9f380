/** What native programs need to send requests without JavaScript: the table of the C API, and its header. */

import { dirname } from 'node:path';
import { addon } from './addon/load.js';
import { ownFile } from './addon/own-file.js';
import { statusError } from './addon/status.js';
import { tritonLibrary } from './addon/triton-library.js';
import { TritonError } from './errors.js';

/** The C API of the engine, for addons and libraries in the same process. */
export interface NativeApi {
  /**
   * Folder of the header `tritonts.h`, for the compiler.
   *
   * @throws {@link TritonError} UNAVAILABLE if the package lacks it, as in a bundle.
   */
  readonly include: string;
  /**
   * Path of the header.
   *
   * @throws {@link TritonError} UNAVAILABLE as {@link NativeApi.include}.
   */
  readonly header: string;
  /**
   * Version of the table, `TRITONTS_API_VERSION` of the header.
   *
   * @throws {@link TritonError} UNAVAILABLE if the addon cannot be loaded.
   */
  readonly version: number;
  /**
   * Address of the table, a `tritonts_api*`. It is valid until the process ends.
   *
   * @throws {@link TritonError} UNAVAILABLE as {@link NativeApi.version}.
   */
  readonly address: bigint;
  /**
   * The same address as an external value, with the type tag of the header, which addons can check.
   *
   * @throws {@link TritonError} UNAVAILABLE as {@link NativeApi.version}, UNSUPPORTED in runtimes without tags for external values.
   */
  readonly external: unknown;
  /**
   * Path of `libtritonserver.so` of the package, which has Triton's functions (`TRITONSERVER_…`). Reading it opens the library, so that
   * a program that is opened later, and needs a library of this name, gets it. `triton_server` of the table returns the server for
   * its functions.
   *
   * @throws {@link TritonError} UNAVAILABLE if the package lacks it, as in a bundle, and as {@link NativeApi.version}; UNSUPPORTED on other
   *   systems than Linux with glibc.
   */
  readonly library: string;
  /**
   * Folder of the headers of Triton's functions, for the compiler: `triton.h`, and `triton/core/tritonserver.h` and its like for sources
   * that were written for Triton.
   *
   * @throws {@link TritonError} UNAVAILABLE as {@link NativeApi.include}.
   */
  readonly tritonInclude: string;
}

/** What {@link NativeApi.header} is, for messages. */
const what = 'the header of the C API';

/**
 * The C API of the engine. Native code in the process takes its address, and the `engine` and `id` of
 * {@link InferenceServer.handle}. Then it sends requests from its own threads, without JavaScript. Triton has its in-process
 * API for this.
 *
 * @example
 * frames.start(nativeApi.external, server.handle.engine, server.handle.id, 'digits');
 */
export const nativeApi: NativeApi = Object.freeze({
  get include(): string {
    return dirname(this.header);
  },
  get header(): string {
    return ownFile('native/include/tritonts.h', what);
  },
  get version(): number {
    return addon().nativeApi().version;
  },
  get address(): bigint {
    return addon().nativeApi().address;
  },
  get external(): unknown {
    const { external } = addon().nativeApi();
    if (external !== undefined) return external;
    throw new TritonError(
      'UNSUPPORTED',
      'this runtime has no type tags for external values: pass nativeApi.address instead',
    );
  },
  get library(): string {
    // Beside the addon, which may be a build of its own or a package of the platform.
    const file = tritonLibrary();
    const fault = addon().openTritonLibrary(file);
    if (fault === null) return file;
    throw statusError(fault);
  },
  get tritonInclude(): string {
    return dirname(ownFile('native/plugins/abi/triton.h', "the header of Triton's functions"));
  },
});

/** protobufjs, loaded with the first message that is not of inference: most processes need none of it. */

import { createRequire } from 'node:module';
import type * as Protobufjs from 'protobufjs';
import { TritonError, unavailable } from '../../errors.js';

let loaded: typeof Protobufjs | undefined;

/**
 * Loads protobufjs, without its parser of .proto files.
 *
 * @throws {@link TritonError} UNAVAILABLE where it is not installed beside this package.
 */
export function protobufjs(): typeof Protobufjs {
  // The types are those of the package, whose light part has all that is used here.
  return (loaded ??= requireBeside('protobufjs/light.js') as typeof Protobufjs);
}

/** Requires a file of protobufjs. `require` is used because calls answer at once, which `import()` cannot. */
export function requireBeside(file: string): unknown {
  try {
    return createRequire(import.meta.url)(file);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message.split('\n', 1)[0] : String(cause);
    throw unavailable(
      'MISSING',
      `${file}, which reads and writes gRPC's management messages, cannot be loaded: ${why}; install protobufjs beside tritonts (npm ci), and leave both outside of a bundle (docs/bundlers.md)`,
      { cause },
    );
  }
}

/**
 * protobufjs makes functions from strings. Where Node refuses that, no management call could be answered.
 *
 * @param caller - The function that needs it, for the error.
 * @throws {@link TritonError} UNSUPPORTED where the process refuses it.
 */
export function checkCodeFromStrings(caller: string): void {
  try {
    Reflect.construct(Function, ['']);
  } catch (cause) {
    throw new TritonError(
      'UNSUPPORTED',
      `${caller}: gRPC needs functions that protobufjs makes from strings, which this process refuses: start Node without --disallow-code-generation-from-strings, allow 'unsafe-eval' in the content security policy, or use HTTP`,
      { cause },
    );
  }
}

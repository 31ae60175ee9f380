/** Loads protobufjs at the first message that is not an inference message. Most processes never need it. */

import { createRequire } from 'node:module';
import type * as Protobufjs from 'protobufjs';
import { TritonError, unavailable } from '../../errors.js';

let loaded: typeof Protobufjs | undefined;

/**
 * Loads protobufjs, without its parser of .proto files.
 *
 * @throws {@link TritonError} UNAVAILABLE if it is not installed beside this package.
 */
export function protobufjs(): typeof Protobufjs {
  // The types describe the whole package. Its light part has all functions used here.
  return (loaded ??= requireBeside('protobufjs/light.js') as typeof Protobufjs);
}

/** Requires a file of protobufjs. `require` is synchronous, as calls need; `import()` is not. */
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
 * Checks that code generation from strings is allowed. protobufjs needs it for all calls except inference.
 *
 * @param caller - The function that needs it, for the error.
 * @throws {@link TritonError} UNSUPPORTED if the process disallows it.
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

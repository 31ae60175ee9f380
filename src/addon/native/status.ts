/** A status of the engine. */

/** A status of the engine. `native/engine/base/status.h` has the numbers. */
export interface NativeStatus {
  readonly code: number;
  readonly message: string;
}

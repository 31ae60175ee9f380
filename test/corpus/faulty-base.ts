/** The good configuration that most faulty files are made from. */

/** A faulty file. */
export interface Faulty {
  /** The fault or peculiarity of the file. */
  readonly what: string;
  readonly content: string | Uint8Array;
  /** Where the fault is found; undefined if the file loads. */
  readonly fault: { readonly line: number; readonly field: string; readonly text: string } | undefined;
}

/** A good configuration. `{}` on line 6 marks the place for a test's line. */
const good = `# A comment in UTF-8: 5 µs.
backend: "onnxruntime"
max_batch_size: 8
input [ { name: "x" data_type: TYPE_FP32 dims: [ 16 ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ 16 ] } ]
{}
`;

/** The good configuration with something on line 6. */
export function withLine(line: string): string {
  return good.replace('{}', () => line);
}

/** The good configuration with a part exchanged. */
export function exchanged(part: string, other: string): string {
  if (!good.includes(part)) throw new Error(`the configuration has no ${part}`);
  return withLine('').replace(part, () => other);
}

/** Triton's protocol datatypes, their numbers and sizes. Imports nothing from other folders. */

/** A tensor datatype by its protocol name. A config writes `TYPE_` before it, and `TYPE_STRING` for BYTES. */
export type Datatype =
  | 'BOOL'
  | 'UINT8'
  | 'UINT16'
  | 'UINT32'
  | 'UINT64'
  | 'INT8'
  | 'INT16'
  | 'INT32'
  | 'INT64'
  | 'FP16'
  | 'FP32'
  | 'FP64'
  | 'BYTES'
  | 'BF16';

/**
 * The number of each datatype in Triton's `DataType` enum. The addon's calls and the engine use it, too
 * (`native/engine/base/datatype.h`).
 */
export const datatypeNumber: Readonly<Record<Datatype, number>> = {
  BOOL: 1,
  UINT8: 2,
  UINT16: 3,
  UINT32: 4,
  UINT64: 5,
  INT8: 6,
  INT16: 7,
  INT32: 8,
  INT64: 9,
  FP16: 10,
  FP32: 11,
  FP64: 12,
  BYTES: 13,
  BF16: 14,
};

/** The datatype of each number of {@link datatypeNumber}; index 0 (TYPE_INVALID) is undefined. */
export const datatypeOfNumber: readonly (Datatype | undefined)[] = [
  undefined,
  'BOOL',
  'UINT8',
  'UINT16',
  'UINT32',
  'UINT64',
  'INT8',
  'INT16',
  'INT32',
  'INT64',
  'FP16',
  'FP32',
  'FP64',
  'BYTES',
  'BF16',
];

/** Bytes of one element; 0 for BYTES, whose elements have different sizes. */
export const datatypeSize: Readonly<Record<Datatype, number>> = {
  BOOL: 1,
  UINT8: 1,
  UINT16: 2,
  UINT32: 4,
  UINT64: 8,
  INT8: 1,
  INT16: 2,
  INT32: 4,
  INT64: 8,
  FP16: 2,
  FP32: 4,
  FP64: 8,
  BYTES: 0,
  BF16: 2,
};

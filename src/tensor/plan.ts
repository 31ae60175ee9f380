/** What is known about a model's inputs before a request comes, worked out once per model version. */

import type { Datatype } from './datatype.js';
import { elementTypes, type ElementType } from './elements.js';

/** One input as its model is configured. */
export interface TensorSpec {
  /** Triton: `input.name`. */
  readonly name: string;
  /** Triton: `input.data_type`, by its protocol name. */
  readonly datatype: Datatype;
  /** Triton: `input.dims`; without the batch dimension, -1 where any size is allowed. */
  readonly dims: readonly number[];
  /** Triton: `input.optional`: requests may leave it out. */
  readonly optional: boolean;
}

/** The inputs of one model version. */
export interface RequestSpec {
  /** Name of the model, for messages. */
  readonly model: string;
  /** Triton: `max_batch_size`; 0 for a model without a batch dimension. */
  readonly maxBatchSize: number;
  /** Nobody wrote `max_batch_size`: it is the default. Absent: it was written. */
  readonly batchSizeCompleted?: boolean | undefined;
  /** In the order in which encoded inputs are wanted. */
  readonly inputs: readonly TensorSpec[];
}

/** One input with what follows from its configuration. */
export interface InputPlan extends TensorSpec {
  /** Name of the model, for messages. */
  readonly model: string;
  /** 0 for a model without a batch dimension. */
  readonly maxBatchSize: number;
  /** Nobody wrote `max_batch_size`: it is the default. */
  readonly batchSizeCompleted: boolean;
  /** 1 where shapes begin with the batch dimension, else 0. */
  readonly batchRank: 0 | 1;
  /** Rank of a request's shape. */
  readonly rank: number;
  /** Elements of one item over its fixed dims. */
  readonly fixedCount: number;
  /** How many dims are -1. */
  readonly variableDims: number;
  /** How JavaScript values become elements; undefined for BYTES, whose elements vary in size. */
  readonly elements: ElementType | undefined;
}

/** Works out the plans of a model's inputs. */
export function planInputs(spec: RequestSpec): readonly InputPlan[] {
  const batchRank = spec.maxBatchSize > 0 ? 1 : 0;
  return spec.inputs.map((input) => {
    const fixed = input.dims.filter((dim) => dim !== -1);
    return {
      name: input.name,
      datatype: input.datatype,
      dims: [...input.dims],
      optional: input.optional,
      model: spec.model,
      maxBatchSize: spec.maxBatchSize,
      batchSizeCompleted: spec.batchSizeCompleted === true,
      batchRank,
      rank: input.dims.length + batchRank,
      fixedCount: fixed.reduce((count, dim) => count * dim, 1),
      variableDims: input.dims.length - fixed.length,
      elements: input.datatype === 'BYTES' ? undefined : elementTypes[input.datatype],
    };
  });
}

/** Facts about a model's inputs that are known before any request, worked out once for each version. */

import type { Datatype } from './datatype.js';
import { elementTypes, type ElementType } from './elements.js';

/** The configuration of an input. */
export interface TensorSpec {
  /** Triton: `input.name`. */
  readonly name: string;
  /** Triton: `input.data_type`, by its protocol name. */
  readonly datatype: Datatype;
  /** Triton: `input.dims`; without the batch dimension, -1 where any size is allowed. */
  readonly dims: readonly number[];
  /**
   * Whether this is a shape tensor of a model that batches (default false). Its first value is then the number
   * of rows, and `dims` is its whole shape.
   */
  readonly rowsInValues?: boolean | undefined;
  /** Triton: `input.optional`. Requests may leave it out. */
  readonly optional: boolean;
}

/** The inputs of one model version. */
export interface RequestSpec {
  /** Name of the model, for messages. */
  readonly model: string;
  /** Triton: `max_batch_size`; 0 for a model without a batch dimension. */
  readonly maxBatchSize: number;
  /** The source of `max_batch_size`, if auto-completion set it. Absent: the config has it. */
  readonly batchSizeCompleted?: 'default' | 'model' | false | undefined;
  /** The name of the model's backend, for messages (default: ''). */
  readonly backend?: string;
  /** The inputs, in the order in which they are encoded. */
  readonly inputs: readonly TensorSpec[];
  /** The noun for these tensors in messages (default: 'input'). */
  readonly noun?: 'input' | 'output' | undefined;
}

/** An input with everything that follows from its configuration. */
export interface InputPlan extends TensorSpec {
  /** Name of the model, for messages. */
  readonly model: string;
  /** 0 for a model without a batch dimension, and for a shape tensor. */
  readonly maxBatchSize: number;
  /** The noun for this tensor in messages. */
  readonly noun: 'input' | 'output';
  /** The source of `max_batch_size`, if auto-completion set it; false: the config has it. */
  readonly batchSizeCompleted: 'default' | 'model' | false;
  /** The name of the model's backend, for messages. */
  readonly backend: string;
  /** 1 if shapes begin with the batch dimension, otherwise 0. */
  readonly batchRank: 0 | 1;
  /** Rank of a request's shape. */
  readonly rank: number;
  /** The product of the fixed dims. */
  readonly fixedCount: number;
  /** How many dims are -1. */
  readonly variableDims: number;
  /** Converts JavaScript values to elements; undefined for BYTES, whose elements have different sizes. */
  readonly elements: ElementType | undefined;
}

/** Works out the plans of a model's inputs. */
export function planInputs(spec: RequestSpec): readonly InputPlan[] {
  return spec.inputs.map((input) => {
    const maxBatchSize = input.rowsInValues === true ? 0 : spec.maxBatchSize;
    const batchRank = maxBatchSize > 0 ? 1 : 0;
    const fixed = input.dims.filter((dim) => dim !== -1);
    return {
      name: input.name,
      datatype: input.datatype,
      dims: [...input.dims],
      optional: input.optional,
      model: spec.model,
      noun: spec.noun ?? 'input',
      maxBatchSize,
      batchSizeCompleted: spec.batchSizeCompleted ?? false,
      backend: spec.backend ?? '',
      batchRank,
      rank: input.dims.length + batchRank,
      fixedCount: fixed.reduce((count, dim) => count * dim, 1),
      variableDims: input.dims.length - fixed.length,
      elements: input.datatype === 'BYTES' ? undefined : elementTypes[input.datatype],
    };
  });
}

/** The description of a version for the thread that runs it. It can be cloned to another thread. */

import type { NativeHostPolicy } from '../../addon/native/version-config.js';
import { datatypeOf, sequenceTensorsOf, type ModelConfig } from '../../config/index.js';
import { TritonError } from '../../errors.js';
import type { Datatype } from '../../tensor/datatype.js';

/** See the head of this file. */
export interface InstanceSpec {
  readonly model: string;
  readonly version: number;
  readonly config: ModelConfig;
  readonly directory: string;
  readonly instance: {
    readonly name: string;
    readonly index: number;
    readonly kind: string;
    readonly device: number;
  };
  /** What its thread is bound to; undefined: nothing. */
  readonly hostPolicy?: NativeHostPolicy | undefined;
  /** The number of the version's inboxes. */
  readonly inboxes: number;
  /** How many batches may be under way at once. */
  readonly concurrency: number;
  /** The number of cores on which the instance's thread may spin. */
  readonly cores: number;
}

/** A tensor as the model sees it. */
export interface ModelTensor {
  readonly name: string;
  readonly datatype: Datatype;
  /** Without the batch dimension. */
  readonly dims: readonly number[];
}

/**
 * The inputs or outputs of a model, as the model itself sees them: also states and control tensors, which its callers do not
 * see.
 */
export function tensorsOf(config: ModelConfig, section: 'input' | 'output'): ModelTensor[] {
  const hidden = sequenceTensorsOf(config)[section === 'input' ? 'inputs' : 'outputs'];
  const all = [
    ...config[section].map((tensor) => ({ ...tensor, dims: tensor.reshape?.shape ?? tensor.dims })),
    ...hidden.map((tensor) => ({ ...tensor, dims: tensor.laterDims })),
  ];
  return all.map(({ name, data_type, dims }) => {
    const datatype = datatypeOf(data_type);
    if (!datatype) throw new TritonError('INTERNAL', `model '${config.name}', tensor '${name}': no datatype`);
    return { name, datatype, dims };
  });
}

/** Writes the answer of `infer`: JSON, followed by outputs as binary data. */

import type { InferResult } from '../../api/results.js';
import { inOrder, type Named } from '../../tensor/named-values.js';
import type { Sliced } from '../../slices.js';
import { StoredTensor } from '../../tensor/region-tensor.js';
import { bytesOfTensor } from '../service/tensors.js';
import type { BinaryOutputs } from './infer-request.js';
import { parameterText } from '../../protocol/parameters.js';
import { elementsText, quoted } from './json-output.js';

/** An answer that has not been sent. */
export interface InferAnswer {
  readonly json: string;
  /** The binary outputs, in order; empty if all outputs are in the JSON. */
  readonly blobs: readonly Buffer[];
}

function headOf({ id, model, parameters }: InferResult): string {
  const idText = id === '' ? '' : `"id":${quoted(id)},`;
  const names = Object.entries(parameters);
  const told = names.map(([name, value]) => `${quoted(name)}:${parameterText(value)}`).join(',');
  const parametersText = names.length === 0 ? '' : `"parameters":{${told}},`;
  return `{${idText}"model_name":${quoted(model.name)},"model_version":"${model.version}",${parametersText}"outputs":[`;
}

/**
 * Writes a result.
 *
 * @param asked - The request's list of outputs, which gives their order; undefined: the order of the configuration.
 * @throws {@link TritonError} INVALID_ARG for outputs that JSON cannot carry.
 */
export function* writeInferAnswer(
  result: InferResult,
  { others, listed }: BinaryOutputs,
  asked: readonly Named[] | undefined,
): Sliced<InferAnswer> {
  let json = headOf(result);
  const blobs: Buffer[] = [];
  let separator = '';
  for (const { name } of inOrder(result.outputs, asked)) {
    const tensor = result.outputs[name];
    if (tensor === undefined) continue;
    json += `${separator}{"name":${quoted(name)},"datatype":"${tensor.datatype}","shape":[${tensor.shape.join(',')}]`;
    separator = ',';
    // As in Triton, without its size, which follows from the shape, or from the lengths of its elements.
    if (tensor instanceof StoredTensor) json += '}';
    else if (listed.get(name) ?? others) {
      const blob = bytesOfTensor(tensor);
      json += `,"parameters":{"binary_data_size":${blob.length}}}`;
      if (blob.length > 0) blobs.push(blob);
    } else {
      json += `,"data":[${yield* elementsText(result.model.name, name, tensor)}]}`;
    }
  }
  return { json: `${json}]}`, blobs };
}

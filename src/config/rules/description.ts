/** What a backend tells about a model that it has opened, and the names of element types on both sides. */

import { datatypeNumber, datatypeOfNumber, type Datatype } from '../../tensor/datatype.js';
import { enumNames } from '../schema/fields.js';
import type { DataType } from '../schema/types.js';

/** One input or output as the model's own file declares it. */
export interface TensorDescription {
  readonly name: string;
  /** Element type; undefined if Triton has no name for it. */
  readonly datatype: Datatype | undefined;
  /** The element type in the runtime's own words, for messages: `tensor(float)`. */
  readonly typeName: string;
  /**
   * Shape with the batch dimension, if the model has one; -1 is variable. Undefined: the model's file leaves it open, and
   * not even the number of dimensions is known. A tensor without dimensions has an empty shape.
   */
  readonly shape: readonly number[] | undefined;
  /** A request may leave it out: the model carries a value for it. */
  readonly optional: boolean;
  /** The file's name for each dimension, '' for those without; equal names are the same dimension. */
  readonly dimNames: readonly string[];
}

/** The inputs and outputs of an opened model, in the model's order. */
export interface ModelDescription {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  /** Why outputs may have other rows than inputs, whatever dimensions are called; absent: nothing speaks for it. */
  readonly rowsVary?: string | undefined;
}

/** The datatype that a configuration's `data_type` names; undefined for TYPE_INVALID. */
export function datatypeOf(type: DataType): Datatype | undefined {
  return datatypeOfNumber[enumNames('DataType').indexOf(type)];
}

/** The `data_type` by which a configuration names a datatype. */
export function dataTypeOf(datatype: Datatype): DataType {
  // The enum's names are those of the type; a test compares them.
  return enumNames('DataType')[datatypeNumber[datatype]] as DataType;
}

/**
 * A tensor that no configuration can name, because Triton has no type for it, and what to do about it, for messages.
 *
 * @param side - What it is of the model.
 */
export function withoutTypeText(side: 'input' | 'output', { name, typeName }: TensorDescription): string {
  const fact = `${JSON.stringify(name)} is of type ${typeName}, for which Triton has no name`;
  if (side === 'input' || (typeName !== 'sequence' && typeName !== 'map')) {
    return `${fact}: export the model with a tensor of another type in its place`;
  }
  return (
    `${fact}. Of a scikit-learn or LightGBM classifier this is the probabilities as a sequence of maps (zipmap): ` +
    "to have them as a tensor, export with skl2onnx.to_onnx(…, options={'zipmap': False}) or " +
    'onnxmltools.convert_lightgbm(…, zipmap=False)'
  );
}

/** The shape of a tensor with the names of its dimensions, where they have some: `[batch,3]`. */
export function namedShapeText({ shape, dimNames }: TensorDescription): string {
  if (shape === undefined) return 'of unknown rank';
  return shapeText(
    shape.map((dim, index) => {
      const name = dimNames[index] ?? '';
      // A name may be any text.
      return name === '' ? dim : /^[\w-]+$/.test(name) ? name : JSON.stringify(name);
    }),
  );
}

/** More dims than any model has; the rest is counted. */
const mostShown = 32;

/** A shape, or another list of numbers, in messages: `[-1,3,224,224]`. */
export function shapeText(shape: readonly (number | string)[]): string {
  if (shape.length <= mostShown) return `[${shape.join(',')}]`;
  return `[${shape.slice(0, mostShown).join(',')},… ${shape.length} in all]`;
}

/** Describes a model that a backend has opened, and translates names of element types. */

import { datatypeNumber, datatypeOfNumber, type Datatype } from '../../tensor/datatype.js';
import { enumNames } from '../schema/fields.js';
import type { DataType } from '../schema/types.js';

/** An input or output as the model's file declares it. */
export interface TensorDescription {
  readonly name: string;
  /** Element type; undefined if Triton has no name for it. */
  readonly datatype: Datatype | undefined;
  /** The element type in the runtime's own notation, for messages: `tensor(float)`. */
  readonly typeName: string;
  /**
   * The shape, with the batch dimension if the model has one; -1 is variable. A tensor without dimensions has
   * an empty shape. Undefined if the rank is unknown.
   */
  readonly shape: readonly number[] | undefined;
  /** Whether a request may leave the tensor out, because the model has a default for it. */
  readonly optional: boolean;
  /** Whether the tensor's values are shapes, which the runtime reads in host memory (default: false). */
  readonly isShapeTensor?: boolean;
  /**
   * The file's name for each dimension, '' for a dimension without a name. Dimensions with equal names have
   * equal sizes.
   */
  readonly dimNames: readonly string[];
}

/** The inputs and outputs of an opened model, in the model's order. */
export interface ModelDescription {
  readonly inputs: readonly TensorDescription[];
  readonly outputs: readonly TensorDescription[];
  /**
   * Why outputs may have other rows than inputs although their dimensions have the same name; absent if there
   * is no sign of it.
   */
  readonly rowsVary?: string | undefined;
  /**
   * The maximum number of rows of a batch, 0 for a model that cannot be batched; absent if the model has no
   * such limit.
   */
  readonly mostRows?: number | undefined;
}

/** The datatype for a configuration's `data_type`; undefined for TYPE_INVALID. */
export function datatypeOf(type: DataType): Datatype | undefined {
  return datatypeOfNumber[enumNames('DataType').indexOf(type)];
}

/** The number that the engine has for a `data_type`; 0 for TYPE_INVALID. */
export function typeNumber(type: DataType): number {
  const datatype = datatypeOf(type);
  return datatype === undefined ? 0 : datatypeNumber[datatype];
}

/** The configuration's `data_type` for a datatype. */
export function dataTypeOf(datatype: Datatype): DataType {
  // The type has the names of the enum; a test compares them.
  return enumNames('DataType')[datatypeNumber[datatype]] as DataType;
}

/**
 * The message about a tensor whose type Triton has no name for, with advice.
 *
 * @param side - Whether the tensor is an input or an output of the model.
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

/** A tensor's shape with the names of its dimensions, if there are any: `[batch,3]`. */
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

/** No model has more dims. Of longer shapes only the length is added. */
const mostShown = 32;

/** A shape, or another list of numbers, in messages: `[-1,3,224,224]`. */
export function shapeText(shape: readonly (number | string)[]): string {
  if (shape.length <= mostShown) return `[${shape.join(',')}]`;
  return `[${shape.slice(0, mostShown).join(',')},… ${shape.length} in all]`;
}

// The controls of an input.

import { choice, labelled, make } from '../dom.js';
import { byteStringsOf, wireOf, writings } from './byte-strings.js';
import { bytesOfNumbers, bytesOfValues, isFloat, valuesOf } from './elements.js';
import { guarded } from './guarded.js';
import { imageData, imageLayout, imageRanges } from './image.js';
import { elementsOf } from './list.js';
import { checkCount, countOf, filled, shapeOf } from './shape.js';

/** Elements that a field begins with, at most. */
const mostSample = 64;

/** What a form makes of the elements of BYTES. */
function ofByteStrings(input, shape, elements) {
  checkCount(shape, elements.length);
  return { ...input, shape, bytes: wireOf(elements) };
}

/** Text, hex, base64 or a file. */
function byteStringField({ name, datatype, shape: given }, dims) {
  const value = make('textarea', { value: 'text', spellcheck: false });
  const writing = choice(writings);
  const file = make('input', { type: 'file' });
  const controls = [
    labelled('Elements, one a line', value),
    labelled('Written as', writing),
    labelled('File, as the one element', file),
  ];
  const read = async () => {
    const shape = shapeOf(dims.value, given);
    const [chosen] = file.files;
    const input = { name, datatype };
    if (chosen !== undefined) {
      const one = given.map((dim) => (dim < 0 ? 1 : dim));
      return ofByteStrings(input, one, [new Uint8Array(await chosen.arrayBuffer())]);
    }
    // No text is one empty element, but for a shape without elements.
    const isNone = value.value === '' && countOf(shape) === 0;
    const elements = isNone ? [] : byteStringsOf(value.value, writing.value);
    return ofByteStrings(input, filled(shape, given, elements.length), elements);
  };
  return { controls, read };
}

/** A list, or an image. */
function numberField({ name, datatype, shape: given }, dims) {
  const count = Math.min(countOf(given.map((dim) => (dim < 0 ? 1 : dim))), mostSample);
  const sample = Array(count).fill(datatype === 'BOOL' ? 'false' : '0');
  const value = make('textarea', { value: `[${sample.join(', ')}]`, spellcheck: false });
  const layout = imageLayout({ shape: given, datatype });
  const file = make('input', { type: 'file', accept: 'image/*' });
  const range = choice(imageRanges);
  // Whole numbers hold the bytes of an image as they are.
  if (!isFloat(datatype)) range.value = '255';
  const controls = [
    labelled(`Elements as a list${layout ? ', or an image' : ''}`, value),
    ...(layout ? [labelled('Image file', file), labelled('Values of the image', range)] : []),
  ];
  const read = async () => {
    const input = { name, datatype };
    const [chosen] = layout === undefined ? [] : file.files;
    if (chosen === undefined) {
      const wanted = shapeOf(dims.value, given);
      const values = valuesOf(datatype, elementsOf(value.value));
      checkCount(wanted, values.length);
      return { ...input, shape: wanted, bytes: bytesOfValues(datatype, values) };
    }
    const image = await imageData(chosen, layout, given.length, range.value);
    const { shape, count: size, each, places } = image;
    return { ...input, shape, bytes: await bytesOfNumbers(datatype, size, each, places) };
  };
  return { controls, read };
}

/**
 * Makes the controls of an input.
 *
 * @returns `read` gives the input with its bytes, or undefined after it has said beside the field what is wrong.
 */
export function inputField(input, isOptional) {
  const { name, datatype, shape } = input;
  const dims = make('input', {
    value: shape.map((dim) => (dim < 0 ? 1 : dim)).join(', '),
    autocomplete: 'off',
    spellcheck: false,
  });
  const { controls, read } = datatype === 'BYTES' ? byteStringField(input, dims) : numberField(input, dims);
  const sent = make('input', { type: 'checkbox' });
  const { element, attempt, clear } = guarded(
    `${name} (${datatype})`,
    ...(isOptional ? [labelled('Send this optional input', sent)] : []),
    labelled('Shape', dims),
    ...controls,
  );
  // What is not sent is not wrong.
  sent.addEventListener('change', clear);
  return {
    element,
    isSent: () => !isOptional || sent.checked,
    read: () => attempt(read),
  };
}

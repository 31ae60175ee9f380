// The shape of an input.

import { told, Wrong } from './wrong.js';

/** How many elements a shape has. */
export const countOf = (shape) => shape.reduce((product, dim) => product * dim, 1);

/** A shape as text. */
export const shapeText = (shape) => `[${shape.join(', ')}]`;

/**
 * Reads a shape.
 *
 * @param given - The input's shape in the metadata; -1 takes any dim.
 * @throws {Wrong} For a shape that the input does not take.
 */
export function shapeOf(text, given) {
  const parts = text.trim() === '' ? [] : text.split(',').map((part) => part.trim());
  if (!parts.every((part) => /^\d{1,15}$/.test(part)))
    throw new Wrong(`expected whole numbers with commas for the shape but received ${told(text)}`);
  const shape = parts.map(Number);
  if (shape.length !== given.length || !given.every((dim, i) => dim < 0 || dim === shape[i]))
    throw new Wrong(
      `expected a shape of ${given.length} dims like ${shapeText(given)}, where -1 is any number, but received ${shapeText(shape)}`,
    );
  return shape;
}

/** A shape for so many elements: its last variable dim takes them, if it is 1. */
export function filled(shape, given, count) {
  const at = given.findLastIndex((dim, i) => dim < 0 && shape[i] === 1);
  const dim = count / countOf(shape);
  return at >= 0 && Number.isInteger(dim) ? shape.with(at, dim) : shape;
}

/** @throws {Wrong} For another number of elements than the shape has. */
export function checkCount(shape, count) {
  const wanted = countOf(shape);
  if (wanted !== count)
    throw new Wrong(`expected ${wanted} elements for the shape ${shapeText(shape)} but received ${count}`);
}

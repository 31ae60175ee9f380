/** The functions of the JavaScript models, as a Piscina worker runs them. */

/** Adds 1 to each number. */
export function add(x: Float32Array): Float32Array {
  const y = new Float32Array(x.length);
  for (let i = 0; i < x.length; i++) y[i] = (x[i] ?? 0) + 1;
  return y;
}

/** Reads an image: the sum of a value of each cache line, so that copying it counts and not the arithmetic. */
export function read(x: Float32Array): number {
  let sum = 0;
  for (let i = 0; i < x.length; i += 16) sum += x[i] ?? 0;
  return sum;
}

// JSON as the server writes it: whole numbers of 64 bits, and NaN and Infinity as bare words.

/** A text, a bare word or a number. */
const sign = /"(?:[^"\\]|\\.)*"|NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Reads JSON. Whole numbers that JavaScript would round, NaN and Infinity become texts. */
export function parseExact(text) {
  const quoted = (found) => (/^(NaN|-?Infinity|-?\d{16,})$/.test(found) ? `"${found}"` : found);
  return JSON.parse(text.replace(sign, quoted));
}

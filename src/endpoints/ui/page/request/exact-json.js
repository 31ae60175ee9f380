// JSON as the server writes it: whole numbers of 64 bits, and NaN and Infinity as bare words.

/** Reads JSON. Numbers that JavaScript would round, NaN and Infinity become texts. */
export function parseExact(text) {
  const sign = /"(?:[^"\\]|\\.)*"|NaN|-?Infinity|-?\d{16,}(?![\d.eE])/g;
  return JSON.parse(text.replace(sign, (found) => (found.startsWith('"') ? found : `"${found}"`)));
}

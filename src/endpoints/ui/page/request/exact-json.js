// JSON as the server writes it: whole numbers of 64 bits, and NaN and Infinity as bare words.

/** A bare word or a number. */
const sign = /NaN|-?Infinity|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const quoted = (found) => (/^(NaN|-?Infinity|-?\d{16,})$/.test(found) ? `"${found}"` : found);

/** Where the text ends whose quote is at `begin`. A regular expression would need a stack as deep as the text is long. */
function endOfText(json, begin) {
  for (let at = begin; ;) {
    at = json.indexOf('"', at + 1);
    if (at < 0) return json.length;
    let slashes = 0;
    while (json[at - slashes - 1] === '\\') slashes++;
    if (slashes % 2 === 0) return at + 1;
  }
}

/** Reads JSON. Whole numbers that JavaScript would round, NaN and Infinity become texts. */
export function parseExact(json) {
  const parts = [];
  for (let at = 0; at < json.length;) {
    const quote = json.indexOf('"', at);
    const begin = quote < 0 ? json.length : quote;
    parts.push(json.slice(at, begin).replace(sign, quoted));
    at = quote < 0 ? begin : endOfText(json, begin);
    parts.push(json.slice(begin, at));
  }
  return JSON.parse(parts.join(''));
}

/** What files with the bytes of a tensor must contain. */

/** Bytes before each string, which say how long it is. */
export const prefixBytes = 4;

/** Says what is wrong with strings, each behind its length; undefined: nothing. */
export function stringsFault(bytes: Uint8Array, elements: number): string | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  for (let element = 0; element < elements; element++) {
    const left = bytes.length - at;
    if (left < prefixBytes) {
      return `expected ${elements} strings, each behind its length in ${prefixBytes} bytes, but it ends in string ${element}`;
    }
    const length = view.getUint32(at, true);
    if (length > left - prefixBytes) {
      return `string ${element} has a length of ${length} bytes but the file has only ${left - prefixBytes} more`;
    }
    at += prefixBytes + length;
  }
  if (at === bytes.length) return undefined;
  return `expected ${elements} strings but ${bytes.length - at} bytes follow the last one`;
}

/** Says what is wrong with booleans; undefined: nothing. Requests may have no other bytes either. */
export function booleansFault(bytes: Uint8Array): string | undefined {
  const wrong = bytes.findIndex((byte) => byte > 1);
  return wrong < 0 ? undefined : `expected 0 or 1 for each BOOL but byte ${wrong} is ${bytes[wrong]}`;
}

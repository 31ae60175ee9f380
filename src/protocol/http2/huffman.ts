/** The Huffman code of HPACK: https://www.rfc-editor.org/rfc/rfc7541#appendix-B */

import { ConnectionError, errorCode } from './errors.js';

/**
 * The length of the code of each byte and of the end, in base 32. The code is canonical: codes of one length are consecutive
 * numbers, in the order of their bytes.
 */
const lengths: string =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6ca' +
  'd67777777777777777777777878djde6f56565666577666567655677777fbeds' +
  'kmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmn' +
  'qqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrq' +
  'u';

/** The symbol that ends a text. It may not appear; its first bits pad the last byte. */
const endSymbol = 256;
/** In {@link steps}: the step gives no byte, or the bits are not valid. */
const noByte = 0x100;
const invalid = -1;

/**
 * The code's tree. Node n has its children at 2n and 2n + 1: the number of an inner node, or -1 - symbol.
 */
function makeTree(): Int16Array {
  const tree = new Int16Array(2 * 256);
  let nodes = 1;
  let code = 0;
  let last = 0;
  for (let length = 5; length <= 30; length++)
    for (let symbol = 0; symbol <= endSymbol; symbol++) {
      if (parseInt(lengths.charAt(symbol), 32) !== length) continue;
      code <<= length - last;
      last = length;
      let node = 0;
      for (let bit = length - 1; bit > 0; bit--) {
        const at = 2 * node + ((code >>> bit) & 1);
        let next = tree[at] ?? 0;
        if (next === 0) tree[at] = next = nodes++;
        node = next;
      }
      tree[2 * node + (code & 1)] = -1 - symbol;
      code++;
    }
  return tree;
}

const tree = makeTree();

/** What four bits do in each node: the next node << 9, and the byte that they complete or {@link noByte}; or {@link invalid}. */
const steps: Int32Array = new Int32Array(256 * 16);
for (let from = 0; from < 256; from++)
  for (let bits = 0; bits < 16; bits++) {
    let node = from;
    let byte = noByte;
    let isValid = true;
    for (let bit = 3; bit >= 0 && isValid; bit--) {
      const next = tree[2 * node + ((bits >>> bit) & 1)] ?? 0;
      node = Math.max(0, next);
      if (next < 0) byte = -1 - next;
      isValid = byte !== endSymbol || next >= 0;
    }
    steps[16 * from + bits] = isValid ? (node << 9) | byte : invalid;
  }

/** The nodes in which a text may end: less than eight bits of the end symbol, all ones, lead there. */
const endings: Uint8Array = new Uint8Array(256);
for (let node = 0, bits = 0; bits < 8; bits++) {
  endings[node] = 1;
  node = tree[2 * node + 1] ?? 0;
}

/**
 * Decodes a text.
 *
 * @param to - Takes the decoded bytes. It has at least 8/5 bytes for each byte of the text: no code is shorter than five bits.
 * @returns The number of decoded bytes.
 * @throws {@link ConnectionError} For bits that are no code.
 */
export function decodeHuffman(bytes: Buffer, from: number, end: number, to: Buffer): number {
  let node = 0;
  let size = 0;
  for (let i = from; i < end; i++) {
    const byte = bytes[i] ?? 0;
    for (let shift = 4; shift >= 0; shift -= 4) {
      const step = steps[16 * node + ((byte >>> shift) & 15)] ?? invalid;
      if (step === invalid) throw notHuffman();
      node = step >>> 9;
      if ((step & noByte) === 0) to[size++] = step & 255;
    }
  }
  if (endings[node] !== 1) throw notHuffman();
  return size;
}

function notHuffman(): ConnectionError {
  return new ConnectionError(errorCode.compression, 'a header is not in the Huffman code of HPACK');
}

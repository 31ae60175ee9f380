// Elements of BYTES: texts, or any bytes, which are written as hex or base64.

import { told, Wrong } from './wrong.js';

/** How elements are written. */
export const writings = [
  ['text', 'text'],
  ['hex', 'hex'],
  ['base64', 'base64'],
];

const encoder = new TextEncoder();

function ofText(text) {
  if (!text.isWellFormed())
    throw new Wrong('expected text without lone surrogates, which UTF-8 cannot encode');
  return encoder.encode(text);
}

function ofHex(text) {
  const digits = text.replace(/\s/g, '');
  if (!/^([0-9a-f]{2})*$/i.test(digits))
    throw new Wrong(`expected pairs of the digits 0 to 9 and a to f but received ${told(text)}`);
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => parseInt(pair, 16));
}

function ofBase64(text) {
  try {
    return Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  } catch (cause) {
    throw new Wrong(`expected base64 but received ${told(text)}`, { cause });
  }
}

const readers = { text: ofText, hex: ofHex, base64: ofBase64 };

/**
 * Reads elements, one a line.
 *
 * @throws {Wrong} For a line that is not in the writing.
 */
export function byteStringsOf(text, writing) {
  return text.split('\n').map((line, i) => {
    try {
      return readers[writing](line);
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      throw new Wrong(`line ${i + 1}: ${error.message}`, { cause: error });
    }
  });
}

/** The text of bytes; undefined: they are not UTF-8. */
export function utf8Of(bytes, isCut = false) {
  try {
    // A sign that was cut off at the end is left out.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes, { stream: isCut });
  } catch {
    return undefined;
  }
}

/** Bytes in a writing. In JSON's quotes, texts of several lines are told apart from several texts. */
export function writtenBytes(bytes, writing, isCut) {
  if (writing === 'text') return JSON.stringify(utf8Of(bytes, isCut));
  if (writing === 'hex') return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  let binary = '';
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** The wire bytes of elements: each is behind its length. */
export function wireOf(elements) {
  const size = elements.reduce((sum, { byteLength }) => sum + 4 + byteLength, 0);
  const wire = new Uint8Array(size);
  const view = new DataView(wire.buffer);
  let at = 0;
  for (const element of elements) {
    view.setUint32(at, element.byteLength, true);
    wire.set(element, at + 4);
    at += 4 + element.byteLength;
  }
  return wire;
}

/** The elements of wire bytes. */
export function elementsOfWire(wire) {
  const view = new DataView(wire.buffer, wire.byteOffset, wire.byteLength);
  const elements = [];
  for (let at = 0; at < wire.byteLength;) {
    const size = view.getUint32(at, true);
    elements.push(wire.subarray(at + 4, at + 4 + size));
    at += 4 + size;
  }
  return elements;
}

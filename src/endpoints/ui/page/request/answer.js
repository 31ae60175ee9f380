// Shows the outputs of an answer.

import { choice, labelled, make, shown } from '../dom.js';
import { elementsOfWire, utf8Of, writings, writtenBytes } from './byte-strings.js';
import { isFloat, textOfValue, valuesOfBytes } from './elements.js';
import { shapeText } from './shape.js';

/** Elements of an output that are shown. */
const mostElements = 2000;
/** Bytes of strings that are shown, of each and of all. */
const mostOfEach = 4096;
const mostOfAll = 65_536;
/** Floats of which the largest ones are told. */
const mostRanked = 1_000_000;

const title = (name, rest) => make('h4', {}, `${name}: ${rest}`);

/** The first elements of a list, and how many more there are. */
function listed(text, rest) {
  return make('pre', { tabIndex: 0 }, rest > 0 ? `${text}\n… and ${rest} more` : text);
}

/** A button that saves bytes as a file. */
function download(name, bytes) {
  const button = make(
    'button',
    { type: 'button' },
    `Download ${bytes.byteLength.toLocaleString('en-US')} bytes`,
  );
  button.addEventListener('click', () => {
    const href = URL.createObjectURL(new Blob([bytes]));
    make('a', { href, download: `${name.replace(/[^\w.-]/g, '_')}.bin` }).click();
    // The browser reads it after the click.
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  });
  return button;
}

function largestOf(values) {
  const best = values
    .map((value, i) => [value, i])
    .filter(([value]) => !Number.isNaN(value))
    .sort(([a], [b]) => (a < b ? 1 : a > b ? -1 : 0))
    .slice(0, 5)
    .map(([value, i]) => `${i} (${shown(value)})`);
  return make('p', {}, `The largest: ${best.join(', ')}.`);
}

function numbers({ name, datatype, shape, bytes }) {
  const { values, count } = valuesOfBytes(datatype, bytes, mostRanked);
  const last = shape.at(-1) ?? 0;
  const isRow = isFloat(datatype) && last > 1 && last === count && count <= mostRanked;
  const texts = values.slice(0, mostElements).map((value) => textOfValue(datatype, value));
  return [
    ...(isRow ? [largestOf(values)] : []),
    listed(`[${texts.join(',')}]`, count - texts.length),
    download(name, bytes),
  ];
}

/** The elements that are shown, each cut to a length. */
function firstOf(elements) {
  const first = [];
  let size = 0;
  for (const element of elements.slice(0, mostElements)) {
    if (size >= mostOfAll) break;
    const bytes = element.subarray(0, mostOfEach);
    size += bytes.byteLength;
    first.push({ bytes, rest: element.byteLength - bytes.byteLength });
  }
  return first;
}

/** Texts of cut elements. */
const textsOf = (first, writing) =>
  first.map(({ bytes, rest }) => {
    const text = writtenBytes(bytes, writing, rest > 0);
    return rest > 0 ? `${text} … and ${rest} more bytes` : text;
  });

function byteStrings({ name, bytes }) {
  const elements = elementsOfWire(bytes);
  const first = firstOf(elements);
  const isText = first.every((one) => utf8Of(one.bytes, one.rest > 0) !== undefined);
  const writing = choice(isText ? writings : writings.filter(([key]) => key !== 'text'));
  const place = make('div');
  const show = () => {
    const texts = textsOf(first, writing.value);
    const isList = writing.value === 'text';
    const text = isList ? `[${texts.join(',')}]` : texts.join('\n');
    place.replaceChildren(listed(text, elements.length - first.length));
  };
  writing.addEventListener('change', show);
  show();
  // A single element, such as an encoded image, is a file without its length before it.
  const [only] = elements.length === 1 ? elements : [bytes];
  return [
    ...(isText ? [] : [make('p', {}, 'Not UTF-8.')]),
    labelled('Shown as', writing),
    place,
    download(name, only),
  ];
}

/** The element of an output with its bytes. */
export function outputElement(output) {
  const { name, datatype, shape } = output;
  const content = datatype === 'BYTES' ? byteStrings(output) : numbers(output);
  return make('div', { className: 'output' }, title(name, `${datatype} ${shapeText(shape)}`), ...content);
}

// Elements of the page. All text goes into the document as text, never as HTML.

/** The element of the page with an id. */
export const find = (id) => document.getElementById(id);

/** Makes an element with properties and children. */
export function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** Makes an element of SVG with attributes. */
export function draw(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** Sets the text of a node, if it is another one. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** A control with its name. */
export function labelled(text, control) {
  return make('label', {}, text, control);
}

/** A choice among values, each with its name. */
export function choice(values) {
  return make('select', {}, ...values.map(([value, text]) => make('option', { value }, text)));
}

/** A number for people. */
export const shown = (value, digits = 3) => {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (value === 0) return '0';
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(digits)));
};

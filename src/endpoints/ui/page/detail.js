// The chosen model: its inputs, its outputs, and its form.

import { tell } from './access.js';
import { find, make } from './dom.js';
import { clearForm, showForm } from './request/form.js';
import { shapeText } from './request/shape.js';
import { callJson, modelPath } from './server.js';

/** How often another model was chosen: answers for the one before are dropped. */
let selections = 0;

const titleOf = ({ model, version }) => `${model}${version === undefined ? '' : `, version ${version}`}`;

/** Writes the name of the chosen version. */
export function nameVersion(chosen) {
  find('detail-title').textContent = titleOf(chosen);
}

function tensorRow({ name, datatype, shape }, kind) {
  const cells = [name, kind, datatype, shapeText(shape)];
  return make('tr', {}, ...cells.map((text) => make('td', {}, text)));
}

/** Shows a model; undefined: none. */
export async function showDetail(chosen) {
  const selection = ++selections;
  find('detail').hidden = chosen === undefined;
  clearForm();
  if (chosen === undefined) return;
  nameVersion(chosen);
  find('facts').textContent = '';
  const body = find('tensors').tBodies[0];
  body.replaceChildren();
  try {
    const path = modelPath(chosen.model, chosen.version);
    const [metadata, config] = await Promise.all([callJson(path), callJson(`${path}/config`)]);
    if (selection !== selections) return;
    const most = config.max_batch_size;
    const batches = most > 0 ? `batches of up to ${most} rows` : 'no batches';
    find('facts').textContent = [config.backend || config.platform, batches].join(', ');
    body.replaceChildren(
      ...metadata.inputs.map((tensor) => tensorRow(tensor, 'input')),
      ...metadata.outputs.map((tensor) => tensorRow(tensor, 'output')),
    );
    showForm(chosen.model, chosen.version, metadata, config);
  } catch (error) {
    if (selection === selections) tell(error, find('facts'));
  }
}

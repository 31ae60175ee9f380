// The form of a model.

import { tell } from '../access.js';
import { find, make, shown } from '../dom.js';
import { outputElement } from './answer.js';
import { inputField } from './field.js';
import { infer, inferStream } from './send.js';
import { sequenceField } from './sequence.js';

/** Answers of a stream that are shown, and bytes of these, which can be saved. One is shown in any case. */
const mostAnswers = 100;
const mostBytes = 2 ** 26;

/** Why a request ends when the button is pressed. */
const stopped = new Error('The request was stopped.');

/** The request under way. */
let running = new AbortController();

/** Ends the request under way, and empties the form. */
export function clearForm() {
  running.abort();
  find('request').replaceChildren();
  find('answer').replaceChildren();
}

/** Reads the fields; undefined: one of them is wrong, which has said so. */
async function readFields(fields, sequence) {
  const read = await Promise.all(fields.filter((field) => field.isSent()).map((field) => field.read()));
  const parameters = sequence === undefined ? [] : await sequence.read();
  if (parameters !== undefined && !read.includes(undefined)) return { inputs: read, parameters };
  find('request').querySelector('[aria-invalid=true]')?.focus();
  return undefined;
}

/** Sends a request with one answer, and shows it. */
async function showAnswer({ model, version }, { inputs, parameters }, signal) {
  const begun = performance.now();
  const outputs = await infer(model, version, inputs, parameters, signal);
  const text = `Answered after ${shown(performance.now() - begun)} ms.`;
  if (!signal.aborted) find('answer').replaceChildren(make('p', {}, text), ...outputs.map(outputElement));
}

/** Sends a request with a stream of answers, and shows the last ones. */
async function showAnswers({ model, version }, { inputs, parameters }, signal) {
  const begun = performance.now();
  const after = () => shown(performance.now() - begun);
  const summary = make('p', {}, 'No answer yet.');
  const list = make('div');
  find('answer').replaceChildren(summary, list);
  const sizes = [];
  let [count, size] = [0, 0];
  for await (const outputs of inferStream(model, version, inputs, parameters, signal)) {
    count++;
    const title = make('h3', {}, `Answer ${count}, after ${after()} ms`);
    list.append(make('section', {}, title, ...outputs.map(outputElement)));
    sizes.push(outputs.reduce((sum, { bytes }) => sum + bytes.byteLength, 0));
    size += sizes.at(-1);
    while (sizes.length > 1 && (sizes.length > mostAnswers || size > mostBytes)) {
      list.firstElementChild.remove();
      size -= sizes.shift();
    }
    summary.textContent = `${count} answers so far.`;
  }
  const rest = count > sizes.length ? ` The last ${sizes.length} are shown.` : '';
  summary.textContent = `The stream ended after ${count} answers and ${after()} ms.${rest}`;
}

/** Sends what the fields say. */
async function send(target, fields, sequence, signal) {
  const answer = find('answer');
  try {
    const request = await readFields(fields, sequence);
    // Reading files takes time: meanwhile it may have been stopped, or another model chosen.
    signal.throwIfAborted();
    if (request === undefined) {
      answer.replaceChildren(make('p', {}, 'Nothing was sent: a field is wrong.'));
      return;
    }
    await (target.isStream ? showAnswers : showAnswer)(target, request, signal);
    sequence?.answered();
  } catch (error) {
    // Another model was chosen.
    if (signal.aborted && signal.reason !== stopped) return;
    const text = make('p', { className: 'bad' });
    // What came before an error stays.
    if (target.isStream) answer.append(text);
    else answer.replaceChildren(text);
    tell(error, text);
  }
}

/**
 * Shows the form of a model.
 *
 * @param metadata - The model's inputs.
 * @param config - Its configuration.
 */
export function showForm(model, version, { inputs }, config) {
  const optional = new Set(config.input?.filter((one) => one.optional).map(({ name }) => name));
  const isStream = config.model_transaction_policy?.decoupled === true;
  const fields = inputs.map((input) => inputField(input, optional.has(input.name)));
  const sequence = config.sequence_batching ? sequenceField() : undefined;
  const target = { model, version, isStream };
  const button = make('button', {}, 'Send');
  const stop = make('button', { type: 'button', hidden: true }, 'Stop');
  stop.addEventListener('click', () => {
    running.abort(stopped);
  });
  const form = find('request');
  const groups = [...fields, ...(sequence === undefined ? [] : [sequence])];
  form.replaceChildren(...groups.map(({ element }) => element), button, ' ', stop);
  form.onsubmit = async (event) => {
    event.preventDefault();
    const own = new AbortController();
    running = own;
    button.disabled = true;
    stop.hidden = false;
    find('answer').setAttribute('aria-busy', 'true');
    await send(target, fields, sequence, own.signal);
    // The request of another model may be under way.
    if (running === own) find('answer').removeAttribute('aria-busy');
    button.disabled = false;
    stop.hidden = true;
  };
}

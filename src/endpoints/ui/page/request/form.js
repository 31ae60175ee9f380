// The form of a model.

import { tell } from '../access.js';
import { find, make, shown } from '../dom.js';
import { jsonElement, outputElement } from './answer.js';
import { inputField } from './field.js';
import { infer, generateStream } from './send.js';
import { sequenceField } from './sequence.js';

/** Answers of a stream that are shown. */
const mostAnswers = 100;

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
async function showAnswers({ model, version, outputs }, { inputs, parameters }, signal) {
  const texts = inputs.map(({ name, json }) => [name, json]);
  const begun = performance.now();
  const after = () => shown(performance.now() - begun);
  const summary = make('p', {}, 'No answer yet.');
  const list = make('div');
  find('answer').replaceChildren(summary, list);
  let count = 0;
  for await (const answer of generateStream(model, version, texts, parameters, signal)) {
    count++;
    const told = outputs.filter(({ name }) => Object.hasOwn(answer, name));
    list.append(
      make(
        'section',
        {},
        make('h3', {}, `Answer ${count}, after ${after()} ms`),
        ...told.map(({ name, datatype }) => jsonElement(name, datatype, answer[name])),
      ),
    );
    if (list.childElementCount > mostAnswers) list.firstElementChild.remove();
    summary.textContent = `${count} answers so far.`;
  }
  const rest = count > mostAnswers ? ` The last ${mostAnswers} are shown.` : '';
  summary.textContent = `The stream ended after ${count} answers and ${after()} ms.${rest}`;
}

/** Sends what the fields say. */
async function send(target, fields, sequence, signal) {
  const answer = find('answer');
  try {
    const request = await readFields(fields, sequence);
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
 * @param metadata - The model's inputs and outputs.
 * @param config - Its configuration.
 */
export function showForm(model, version, { inputs, outputs }, config) {
  const optional = new Set(config.input?.filter((one) => one.optional).map(({ name }) => name));
  const isStream = config.model_transaction_policy?.decoupled === true;
  const fields = inputs.map((input) => inputField(input, optional.has(input.name), isStream));
  const sequence = config.sequence_batching ? sequenceField() : undefined;
  const target = { model, version, outputs, isStream };
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
    running = new AbortController();
    button.disabled = true;
    stop.hidden = false;
    find('answer').setAttribute('aria-busy', 'true');
    await send(target, fields, sequence, running.signal);
    find('answer').removeAttribute('aria-busy');
    button.disabled = false;
    stop.hidden = true;
  };
}

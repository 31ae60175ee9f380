// The list of loads.

import { find, make, shown } from './dom.js';

/** Loads that are kept. */
const mostLoads = 200;
const loads = new Map();

/** Adds what the server tells to what the page knows. */
export function showLoads(list) {
  const times = new Map();
  for (const load of list) {
    const { model, version, state, reason, seconds } = load;
    const text = JSON.stringify([model, version, state, reason, seconds]);
    // The same may happen again: it is told apart by how often the list has had it.
    const nth = (times.get(text) ?? 0) + 1;
    times.set(text, nth);
    const key = `${nth}/${text}`;
    const known = loads.get(key);
    // Each thread of the server notes a change when it sees it: the first one counts.
    if (known === undefined || load.time < known.time) loads.set(key, load);
  }
  const entries = [...loads].sort(([, a], [, b]) => (a.time < b.time ? 1 : -1));
  for (const [key] of entries.slice(mostLoads)) loads.delete(key);
  const sorted = entries.slice(0, mostLoads).map(([, load]) => load);
  find('loads').replaceChildren(
    ...sorted.map(({ time, model, version, state, reason, seconds }) =>
      make(
        'li',
        {},
        make('time', { dateTime: time }, new Date(time).toLocaleTimeString()),
        ` ${model}${version === undefined ? '' : `, version ${version}`}: `,
        make('span', { className: state === 'READY' ? 'good' : state === 'UNAVAILABLE' ? 'bad' : '' }, state),
        seconds === undefined ? '' : `, loaded in ${shown(seconds)} s`,
        reason === undefined ? '' : `: ${reason}`,
      ),
    ),
  );
}

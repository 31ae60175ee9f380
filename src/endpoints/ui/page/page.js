// The page of `tritonts serve --ui`, without a library: reads the server every few seconds, and shows what it reads.

import { hasRead, takeSecrets, tellOfReading } from './access.js';
import { showCharts } from './charts.js';
import { nameVersion, showDetail } from './detail.js';
import { find, make, setText } from './dom.js';
import { allBetween, countsOf, difference, figuresOf, keyOf, nothing, readMetrics } from './figures.js';
import { showLoads } from './loads.js';
import { markChosen, showModels } from './models.js';
import { forgetOthers, remember } from './points.js';
import { callJson } from './server.js';

/** A server that has not answered so long counts as gone, in milliseconds. */
const stateMs = 5000;

/** The counts of the last reading; undefined: it failed. */
let before;
/** The chosen version; undefined: none. */
let chosen;
let paused = false;
let timer;

function choose(which) {
  chosen = which;
  showCharts(which);
  markChosen(which);
  void showDetail(which);
}

/** A lazy model has no version until it is loaded: the one that appears is the chosen one. */
function adoptVersion(index) {
  if (chosen === undefined || chosen.version !== undefined) return;
  const of = index.filter(({ name }) => name === chosen.model);
  const version = of.some((one) => one.version === undefined) ? undefined : of.at(-1)?.version;
  if (version === undefined) return;
  chosen = { ...chosen, version };
  nameVersion(chosen);
}

/** Adds a point to the charts. */
function addPoint(atMs, statistics, metrics) {
  const counts = new Map(
    statistics.map((one) => {
      const key = keyOf(one.name, one.version);
      return [key, countsOf(one, metrics.get(key))];
    }),
  );
  const seconds = before === undefined ? 0 : (atMs - before.atMs) / 1000;
  if (seconds > 0) {
    for (const [key, after] of counts)
      remember(key, figuresOf(difference(before.counts.get(key) ?? nothing, after), seconds));
    remember('', allBetween(before.counts, counts, seconds));
  }
  before = { atMs, counts };
  forgetOthers(counts);
}

async function read() {
  try {
    const state = await callJson('state', { timeoutMs: stateMs });
    const { server, ready, index } = state;
    const metrics = readMetrics(state.metrics);
    addPoint(state.atMs, state.statistics, metrics);
    find('server').textContent = `${server.name} ${server.version}`;
    document.title = server.name;
    const served = index.filter(({ state: one }) => one === 'READY').length;
    setStatus(`${ready ? 'ready' : 'not ready'}, ${served} of ${index.length} models ready`, ready);
    hasRead();
    adoptVersion(index);
    showCharts(chosen);
    const instances = new Map(state.instances.map(([name, version, count]) => [keyOf(name, version), count]));
    showModels(index, metrics, instances, chosen, ({ name: model, version }) => {
      const isChosen = chosen !== undefined && keyOf(chosen.model, chosen.version) === keyOf(model, version);
      choose(isChosen ? undefined : { model, version });
    });
    showLoads(state.loads);
  } catch (error) {
    // The time without an answer belongs to no rate.
    before = undefined;
    const text = make('span');
    tellOfReading(error, text);
    setStatus(`no answer: ${text.textContent}`, false);
  }
}

/** Tells the status only when it changes, because a screen reader says it. */
function setStatus(text, good) {
  const status = find('status');
  setText(status, text);
  status.className = good ? 'good' : 'bad';
}

async function loop() {
  clearTimeout(timer);
  if (!paused && !document.hidden) await read();
  timer = setTimeout(() => void loop(), Number(find('interval').value));
}

find('pause').addEventListener('click', () => {
  paused = !paused;
  find('pause').setAttribute('aria-pressed', String(paused));
});
find('interval').addEventListener('change', () => void loop());
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) void loop();
});
takeSecrets(
  () => {
    void loop();
    if (chosen !== undefined) choose(chosen);
  },
  (why) => {
    setStatus(why, false);
  },
);
void loop();

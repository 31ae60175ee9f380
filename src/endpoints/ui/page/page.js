// The page of `tritonts serve --ui`, without a library. All text goes into the document as text, never as HTML.

const find = (id) => document.getElementById(id);

/** Makes an element with properties and children. */
function make(name, properties = {}, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

/** Makes an element of SVG with attributes. */
function draw(name, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

// ---- The server

/** Secrets that the user has given, by header. */
const secrets = new Map();

class Refused extends Error {
  constructor(message, header) {
    super(message);
    this.header = header;
  }
}

/** Makes a call below this page. The header `tritonts-ui` is what other sites cannot send. */
async function call(path, options = {}) {
  const { timeoutMs, ...others } = options;
  const response = await fetch(path, {
    ...others,
    ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
    headers: { 'tritonts-ui': '1', ...Object.fromEntries(secrets), ...others.headers },
    credentials: 'same-origin',
    cache: 'no-store',
  });
  const type = response.headers.get('content-type') ?? '';
  if (response.ok) return type.startsWith('application/json') ? response.json() : response;
  const text = await response.text();
  let message = text || `status ${response.status}`;
  try {
    message = JSON.parse(text).error ?? message;
  } catch {
    // It is the message as it is.
  }
  const header = response.status === 403 ? /expecting header '([^']+)'/.exec(message)?.[1] : undefined;
  throw new Refused(message, header);
}

const modelPath = (model, version) =>
  `v2/models/${encodeURIComponent(model)}${version === undefined ? '' : `/versions/${version}`}`;

// ---- Figures

const keyOf = (model, version) => `${version ?? ''}/${model}`;

/** Buckets of latencies, waiting requests and load times by version, from Prometheus' text. */
function readMetrics(text) {
  const versions = new Map();
  const line =
    /^(nv_inference_request_duration_us_bucket|nv_inference_pending_request_count)\{(.*)\} (\S+)$/gm;
  for (const [, name, labels, value] of text.matchAll(line)) {
    const read = Object.fromEntries(
      [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)",?/gy)].map(([, key, content]) => [
        key,
        content.replace(/\\(.)/g, (_, sign) => (sign === 'n' ? '\n' : sign)),
      ]),
    );
    const key = keyOf(read.model, read.version);
    const entry = versions.get(key) ?? { buckets: new Map(), pending: 0 };
    versions.set(key, entry);
    if (name.endsWith('_count')) entry.pending += Number(value);
    else {
      const bound = read.le === '+Inf' ? Infinity : Number(read.le);
      entry.buckets.set(bound, (entry.buckets.get(bound) ?? 0) + Number(value));
    }
  }
  return versions;
}

/** A quantile in milliseconds, as `histogram_quantile` has it. */
function quantile(buckets, share) {
  const counts = [...buckets].sort(([a], [b]) => a - b);
  const total = counts.at(-1)?.[1] ?? 0;
  if (!(total > 0)) return undefined;
  let lower = 0;
  let below = 0;
  for (const [bound, count] of counts) {
    if (count >= share * total && count > below) {
      if (bound === Infinity) return lower / 1000;
      return (lower + ((bound - lower) * (share * total - below)) / (count - below)) / 1000;
    }
    lower = bound;
    below = count;
  }
  return undefined;
}

/** Counts of a version at one moment. */
function countsOf(statistics, metrics) {
  return {
    success: statistics.inference_stats.success.count,
    ns: statistics.inference_stats.success.ns,
    fail: statistics.inference_stats.fail.count + (statistics.refused ?? 0),
    rows: statistics.inference_count,
    runs: statistics.execution_count,
    buckets: metrics?.buckets ?? new Map(),
  };
}

const nothing = { success: 0, ns: 0, fail: 0, rows: 0, runs: 0, buckets: new Map() };

/** What happened between two moments of a version. A counter that fell has restarted. */
function difference(before, after) {
  const restarted = after.success < before.success || after.runs < before.runs || after.fail < before.fail;
  const base = restarted ? nothing : before;
  return {
    success: after.success - base.success,
    ns: after.ns - base.ns,
    fail: after.fail - base.fail,
    rows: after.rows - base.rows,
    runs: after.runs - base.runs,
    buckets: new Map(
      [...after.buckets].map(([bound, count]) => [bound, count - (base.buckets.get(bound) ?? 0)]),
    ),
  };
}

/** Rates and means of a difference. */
function figuresOf({ success, ns, fail, rows, runs, buckets }, seconds) {
  return {
    requests: success / seconds,
    failures: fail / seconds,
    mean: success > 0 ? ns / success / 1e6 : undefined,
    p50: quantile(buckets, 0.5),
    p99: quantile(buckets, 0.99),
    batch: runs > 0 ? rows / runs : undefined,
  };
}

/** What all versions did: the difference of each, because each may restart, and then the sum. */
function allBetween(before, after, seconds) {
  const sum = { ...nothing, buckets: new Map() };
  for (const [key, counts] of after) {
    const one = difference(before.get(key) ?? nothing, counts);
    for (const name of ['success', 'ns', 'fail', 'rows', 'runs']) sum[name] += one[name];
    for (const [bound, count] of one.buckets) sum.buckets.set(bound, (sum.buckets.get(bound) ?? 0) + count);
  }
  return figuresOf(sum, seconds);
}

// ---- State of the page

/** Points of charts that are kept. */
const mostPoints = 120;
/** Points by version; the key of all models is empty. */
const history = new Map();
/** Loads that are kept. */
const mostLoads = 200;
const loads = new Map();
let before;
let chosen;
let paused = false;
/** Whether the page's readings need the wanted secret. */
let stateAsks = false;
let timer;

function remember(key, figures) {
  const points = history.get(key) ?? [];
  points.push(figures);
  if (points.length > mostPoints) points.shift();
  history.set(key, points);
}

const shown = (value, digits = 3) => {
  if (value === undefined || Number.isNaN(value)) return '–';
  if (value === 0) return '0';
  return value >= 100 ? Math.round(value).toLocaleString('en-US') : String(Number(value.toPrecision(digits)));
};

// ---- Charts

const chartSize = { width: 360, height: 130, left: 44, bottom: 112, top: 8 };

/** A number not below the value: 1, 2 or 5 times a power of ten. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((factor) => factor * power >= value * (1 - 1e-9)) * power;
}

function chart(title, unit, lines, points) {
  const { width, height, left, bottom, top } = chartSize;
  const values = points.flatMap((point) => lines.map(({ of }) => point[of])).filter(Number.isFinite);
  const most = roundUp(Math.max(...values, 0.001));
  const x = (i) => left + ((width - left - 6) * (i + mostPoints - points.length)) / (mostPoints - 1);
  const y = (value) => bottom - ((bottom - top) * value) / most;
  const paths = lines.map(({ of }, i) => {
    let path = '';
    let open = false;
    points.forEach((point, at) => {
      const value = point[of];
      if (!Number.isFinite(value)) {
        open = false;
        return;
      }
      path += `${open ? 'L' : 'M'}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      // A point alone is a short line.
      if (!open) path += 'h0.1';
      open = true;
    });
    return draw('g', { class: `line${i}` }, draw('path', { class: 'plot', d: path }));
  });
  const last = points.at(-1) ?? {};
  const now = lines.map(({ name, of }) => `${name === '' ? '' : `${name} `}${shown(last[of])}`);
  const picture = draw(
    'svg',
    {
      viewBox: `0 0 ${width} ${height}`,
      role: 'img',
      'aria-label': `${title}, ${unit}; now ${now.join(', ')}; the axis ends at ${shown(most)}`,
    },
    ...[0, 0.5, 1].flatMap((share) => [
      draw('line', { class: 'grid', x1: left, x2: width - 6, y1: y(share * most), y2: y(share * most) }),
      draw('text', { x: left - 6, y: y(share * most) + 4, 'text-anchor': 'end' }, shown(share * most)),
    ]),
    ...paths,
  );
  const legend = lines.map(({ name, of }, i) =>
    make('span', { className: `line${i}` }, `${name === '' ? '' : `${name} `}${shown(last[of])}`),
  );
  return make('figure', {}, make('figcaption', {}, make('b', {}, `${title}, ${unit}`), ...legend), picture);
}

function showCharts() {
  const points = history.get(chosen === undefined ? '' : keyOf(chosen.model, chosen.version)) ?? [];
  const title =
    chosen === undefined ? 'All models' : `Model ${chosen.model}, version ${chosen.version ?? '–'}`;
  find('charts-title').textContent = title;
  find('charts').replaceChildren(
    chart(
      'Throughput',
      'requests/s',
      [
        { name: 'answered', of: 'requests' },
        { name: 'failed', of: 'failures' },
      ],
      points,
    ),
    chart(
      'Latency',
      'ms',
      [
        { name: 'mean', of: 'mean' },
        { name: 'p50', of: 'p50' },
        { name: 'p99', of: 'p99' },
      ],
      points,
    ),
    chart('Batch size', 'rows', [{ name: '', of: 'batch' }], points),
  );
}

// ---- Models

/** Rows of the table by version. They stay while their version does, so that a click or the focus is not lost. */
const modelRows = new Map();

function modelRow(key) {
  const button = make('button', { type: 'button' });
  button.dataset.key = key;
  const cells = Array.from({ length: 9 }, () => make('td'));
  for (const [i, cell] of cells.entries()) if (i !== 1) cell.className = 'number';
  const row = { element: make('tr', {}, make('td', {}, button), ...cells), button, cells, entry: undefined };
  button.addEventListener('click', () => {
    const { name: model, version, state } = row.entry;
    const isChosen = chosen !== undefined && keyOf(chosen.model, chosen.version) === key;
    void choose(isChosen ? undefined : { model, version, state });
  });
  return row;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function showModels(index, metrics, instances) {
  const body = find('models').tBodies[0];
  // With namespaces, several models may have a name: they are told apart by their places.
  const found = new Map();
  for (const entry of index) {
    const key = keyOf(entry.name, entry.version);
    let place = 0;
    while (found.has(`${place}/${key}`)) place++;
    found.set(`${place}/${key}`, entry);
  }
  for (const [id, { element }] of modelRows) {
    if (found.has(id)) continue;
    element.remove();
    modelRows.delete(id);
  }
  let at = body.firstElementChild;
  for (const [id, entry] of found) {
    const { name, version, state, reason } = entry;
    const key = keyOf(name, version);
    const row = modelRows.get(id) ?? modelRow(key);
    modelRows.set(id, row);
    row.entry = entry;
    if (row.element === at) at = at.nextElementSibling;
    else body.insertBefore(row.element, at);
    const figures = history.get(key)?.at(-1) ?? {};
    const isChosen = chosen !== undefined && keyOf(chosen.model, chosen.version) === key;
    row.element.className = isChosen ? 'chosen' : '';
    row.button.setAttribute('aria-pressed', String(isChosen));
    setText(row.button, name);
    const [, stateCell] = row.cells;
    stateCell.className = state === 'READY' ? 'good' : state === 'UNAVAILABLE' ? 'bad' : '';
    stateCell.title = reason ?? '';
    const texts = [
      version ?? '–',
      state ?? 'not loaded',
      ...[figures.requests, figures.failures, figures.p50, figures.p99].map((value) => shown(value)),
      ...[metrics.get(key)?.pending, figures.batch, instances.get(key)].map((value) => shown(value)),
    ];
    texts.forEach((text, i) => {
      setText(row.cells[i], text);
    });
  }
}

function showLoads(list) {
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

// ---- A model, and requests to it

let selections = 0;

/** A lazy model has no version until it is loaded: the one that appears is the chosen one. */
function adoptVersion(index) {
  if (chosen === undefined || chosen.version !== undefined) return;
  const of = index.filter(({ name }) => name === chosen.model);
  const version = of.some((one) => one.version === undefined) ? undefined : of.at(-1)?.version;
  if (version === undefined) return;
  chosen = { ...chosen, version };
  find('detail-title').textContent = `${chosen.model}, version ${version}`;
}

async function choose(which) {
  chosen = which;
  const selection = ++selections;
  find('detail').hidden = which === undefined;
  showCharts();
  for (const button of find('models').querySelectorAll('button')) {
    const is = which !== undefined && button.dataset.key === keyOf(which.model, which.version);
    button.setAttribute('aria-pressed', String(is));
    button.closest('tr').className = is ? 'chosen' : '';
  }
  if (which === undefined) return;
  const { model, version } = which;
  find('detail-title').textContent = `${model}${version === undefined ? '' : `, version ${version}`}`;
  find('facts').textContent = '';
  find('tensors').tBodies[0].replaceChildren();
  find('request').replaceChildren();
  find('answer').replaceChildren();
  try {
    const path = modelPath(model, version);
    const [metadata, config] = await Promise.all([call(path), call(`${path}/config`)]);
    if (selection !== selections) return;
    const batches =
      config.max_batch_size > 0 ? `batches of up to ${config.max_batch_size} rows` : 'no batches';
    find('facts').textContent = [config.backend || config.platform, batches].join(', ');
    const row = (kind) => (tensor) =>
      make(
        'tr',
        {},
        make('td', {}, tensor.name),
        make('td', {}, kind),
        make('td', {}, tensor.datatype),
        make('td', {}, `[${tensor.shape.join(', ')}]`),
      );
    find('tensors').tBodies[0].replaceChildren(
      ...metadata.inputs.map(row('input')),
      ...metadata.outputs.map(row('output')),
    );
    if (config.model_transaction_policy?.decoupled === true)
      find('request').replaceChildren('This model answers with a stream, for which this page has no form.');
    else if (config.sequence_batching !== undefined && config.sequence_batching !== null)
      find('request').replaceChildren('This model answers sequences, for which this page has no form.');
    else showForm(model, version, metadata, config.input);
  } catch (error) {
    if (selection === selections) failed(error, find('facts'));
  }
}

/** Where an image's channels are in a shape with 3 dims behind the batch, or with 3 dims; undefined: nowhere. */
function imageLayout({ shape, datatype }) {
  if (datatype === 'BYTES' || datatype === 'BOOL') return undefined;
  const dims = shape.length === 4 ? shape.slice(1) : shape;
  if (dims.length !== 3) return undefined;
  if (dims[0] === 3 || dims[0] === 1)
    return { order: 'CHW', channels: dims[0], height: dims[1], width: dims[2] };
  if (dims[2] === 3 || dims[2] === 1)
    return { order: 'HWC', channels: dims[2], height: dims[0], width: dims[1] };
  return undefined;
}

function showForm(model, version, { inputs }, configured = []) {
  const optional = new Set(configured.filter((one) => one.optional).map(({ name }) => name));
  const fields = inputs.map((input) => inputField(input, optional.has(input.name)));
  const send = make('button', {}, 'Send');
  const form = find('request');
  form.replaceChildren(...fields.map(({ element }) => element), send);
  form.onsubmit = (event) => {
    event.preventDefault();
    send.disabled = true;
    void sendRequest(model, version, fields).finally(() => {
      send.disabled = false;
    });
  };
}

function labelled(text, control) {
  return make('label', {}, text, control);
}

/** The controls of an input. */
function inputField(input, isOptional) {
  const { name, datatype, shape } = input;
  const isText = datatype === 'BYTES';
  const guess = shape.map((dim) => (dim < 0 ? 1 : dim));
  const dims = make('input', { value: guess.join(', '), autocomplete: 'off', spellcheck: false });
  const count = guess.reduce((product, dim) => product * dim, 1);
  const sample = isText
    ? 'text'
    : `[${Array(Math.min(count, 64))
        .fill(datatype === 'BOOL' ? false : 0)
        .join(', ')}]`;
  const value = make('textarea', { value: sample, spellcheck: false });
  const sent = make('input', { type: 'checkbox' });
  const layout = imageLayout(input);
  const file = make('input', { type: 'file', ...(layout && { accept: 'image/*' }) });
  const range = make(
    'select',
    {},
    ...[
      ['1', 'from 0 to 1'],
      ['255', 'from 0 to 255'],
      ['-1', 'from -1 to 1'],
    ].map(([key, text]) => make('option', { value: key }, text)),
  );
  // Whole numbers hold the bytes of an image as they are.
  if (/INT/.test(datatype)) range.value = '255';
  const hasFile = isText || layout !== undefined;
  const element = make(
    'fieldset',
    {},
    make('legend', {}, `${name} (${datatype})`),
    ...(isOptional ? [labelled('Send this optional input', sent)] : []),
    labelled('Shape', dims),
    labelled(isText ? 'Text, one element a line' : `Numbers as JSON${layout ? ', or an image' : ''}`, value),
    ...(hasFile ? [labelled(isText ? 'File, as the one element' : 'Image file', file)] : []),
    ...(layout ? [labelled('Values of the image', range)] : []),
  );
  return {
    element,
    isSent: () => !isOptional || sent.checked,
    async read() {
      const wanted = dims.value
        .split(',')
        .map((part) => part.trim())
        .filter((part) => part !== '')
        .map(Number);
      if (!wanted.every((dim) => Number.isInteger(dim) && dim >= 0))
        throw new Error(`${name}: expected whole numbers with commas for the shape`);
      const [chosenFile] = file.files ?? [];
      if (chosenFile !== undefined && layout !== undefined) {
        const { data, dims: size } = await imageData(chosenFile, layout, wanted, range.value);
        return { name, datatype, shape: size, data };
      }
      if (chosenFile !== undefined)
        return { name, datatype, shape: wanted.map(() => 1), bytes: await chosenFile.arrayBuffer() };
      if (isText) {
        const lines = value.value.split('\n');
        return {
          name,
          datatype,
          shape: lines.length === 1 ? wanted : fill(wanted, lines.length),
          data: lines,
        };
      }
      let data;
      try {
        data = JSON.parse(value.value);
      } catch (error) {
        throw new Error(`${name}: expected JSON: ${error.message}`, { cause: error });
      }
      return { name, datatype, shape: wanted, data: [data].flat(Infinity) };
    },
  };
}

/** A shape with as many elements: its last dim of 1 takes them. */
function fill(shape, count) {
  if (shape.reduce((product, dim) => product * dim, 1) === count) return shape;
  const at = shape.lastIndexOf(1);
  return at < 0 ? shape : shape.with(at, count);
}

/** An image's pixels as a tensor. */
async function imageData(file, { order, channels, height, width }, wanted, range) {
  const bitmap = await createImageBitmap(file);
  const size = {
    width: width > 0 ? width : bitmap.width,
    height: height > 0 ? height : bitmap.height,
  };
  const canvas = new OffscreenCanvas(size.width, size.height);
  const context = canvas.getContext('2d');
  context.drawImage(bitmap, 0, 0, size.width, size.height);
  const { data: pixels } = context.getImageData(0, 0, size.width, size.height);
  const area = size.width * size.height;
  const scaled = (byte) => (range === '255' ? byte : range === '1' ? byte / 255 : byte / 127.5 - 1);
  const data = new Array(channels * area);
  for (let i = 0; i < area; i++) {
    const colours =
      channels === 3
        ? [pixels[4 * i], pixels[4 * i + 1], pixels[4 * i + 2]]
        : [0.299 * pixels[4 * i] + 0.587 * pixels[4 * i + 1] + 0.114 * pixels[4 * i + 2]];
    colours.forEach((colour, channel) => {
      data[order === 'CHW' ? channel * area + i : i * channels + channel] = scaled(
        range === '255' ? Math.round(colour) : colour,
      );
    });
  }
  const dims = order === 'CHW' ? [channels, size.height, size.width] : [size.height, size.width, channels];
  return { data, dims: wanted.length === 4 ? [1, ...dims] : dims };
}

/** A request as bytes: JSON, and behind it the files of strings in wire format. */
function requestBody(inputs) {
  const parts = [];
  const json = JSON.stringify({
    inputs: inputs.map(({ bytes, ...input }) => {
      if (bytes === undefined) return input;
      const length = new DataView(new ArrayBuffer(4));
      length.setUint32(0, bytes.byteLength, true);
      parts.push(length.buffer, bytes);
      return { ...input, parameters: { binary_data_size: 4 + bytes.byteLength } };
    }),
  });
  const head = new TextEncoder().encode(json);
  return {
    body: new Blob([head, ...parts]),
    headers: {
      'content-type': parts.length > 0 ? 'application/octet-stream' : 'application/json',
      ...(parts.length > 0 && { 'inference-header-content-length': String(head.byteLength) }),
    },
  };
}

async function sendRequest(model, version, fields) {
  const answer = find('answer');
  const selection = selections;
  try {
    const inputs = await Promise.all(fields.filter((field) => field.isSent()).map((field) => field.read()));
    const begun = performance.now();
    const { outputs } = await call(`${modelPath(model, version)}/infer`, {
      method: 'POST',
      ...requestBody(inputs),
    });
    const ms = performance.now() - begun;
    if (selection !== selections) return;
    answer.replaceChildren(
      make('p', {}, `Answered after ${shown(ms)} ms.`),
      ...outputs.map((output) => outputElement(output)),
    );
  } catch (error) {
    if (selection === selections) {
      const text = make('p', { className: 'bad' });
      answer.replaceChildren(text);
      failed(error, text);
    }
  }
}

/** Elements of an output that are shown. */
const mostElements = 2000;

function outputElement({ name, datatype, shape, data }) {
  const children = [make('h4', {}, `${name}: ${datatype} [${shape.join(', ')}]`)];
  const last = shape.at(-1) ?? 0;
  if (/^(FP|BF)/.test(datatype) && last > 1 && last === data.length) {
    const best = data
      .map((value, i) => [value, i])
      .sort(([a], [b]) => b - a)
      .slice(0, 5)
      .map(([value, i]) => `${i} (${shown(value)})`);
    children.push(make('p', {}, `The largest: ${best.join(', ')}.`));
  }
  const rest = data.length - mostElements;
  const text = JSON.stringify(data.slice(0, mostElements));
  children.push(make('pre', { tabIndex: 0 }, rest > 0 ? `${text}\n… and ${rest} more` : text));
  return make('div', {}, ...children);
}

// ---- Reading

function failed(error, where) {
  where.textContent = error.message;
  if (!(error instanceof Refused) || error.header === undefined) return;
  find('access-header').textContent = error.header;
  find('access').hidden = false;
  stateAsks = false;
}

/** A server that has not answered so long counts as gone, in milliseconds. */
const stateMs = 5000;

async function read() {
  try {
    const {
      atMs,
      server,
      ready,
      index,
      statistics,
      metrics: text,
      instances,
      loads: list,
    } = await call('state', { timeoutMs: stateMs });
    const metrics = readMetrics(text);
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
    for (const key of history.keys()) if (key !== '' && !counts.has(key)) history.delete(key);
    find('server').textContent = `${server.name} ${server.version}`;
    document.title = server.name;
    const served = index.filter(({ state }) => state === 'READY').length;
    setStatus(`${ready ? 'ready' : 'not ready'}, ${served} of ${index.length} models ready`, ready);
    // What another call has asked for stays, until it is given.
    if (stateAsks) find('access').hidden = true;
    stateAsks = false;
    adoptVersion(index);
    showCharts();
    showModels(
      index,
      metrics,
      new Map(instances.map(([name, version, count]) => [keyOf(name, version), count])),
    );
    showLoads(list);
  } catch (error) {
    // The time without an answer belongs to no rate.
    before = undefined;
    const text = make('span');
    failed(error, text);
    stateAsks = error instanceof Refused && error.header !== undefined;
    setStatus(`no answer: ${text.textContent}`, false);
  }
}

/** Tells the status only when it changes, because a screen reader says it. */
function setStatus(text, good) {
  const status = find('status');
  if (status.textContent !== text) status.textContent = text;
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
find('access').addEventListener('submit', (event) => {
  event.preventDefault();
  const header = find('access-header').textContent;
  const value = find('access-value').value;
  try {
    new Headers([[header, value]]);
  } catch {
    setStatus(`the secret of '${header}' has signs that a header cannot send`, false);
    return;
  }
  secrets.set(header, value);
  find('access-value').value = '';
  find('access').hidden = true;
  void loop();
  if (chosen !== undefined) void choose(chosen);
});
void loop();

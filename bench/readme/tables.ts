/** The tables of the README and of docs/performance.md, as Markdown. */
import { grouped, significant } from '../../src/perf/plot/numbers.js';
import type { ContestantName, ContestantRow } from '../reports/results.js';
import { columns, readmeRows, watched, type ReadmeRow } from './rows.js';
import type { Stored } from './stored.js';

/** Requests per second of all rows, with our ratio to `onnxruntime-node`. */
export function readmeTable(stored: Stored): string {
  return [
    markdown(
      ['model', 'at once', ...columns.map(([, title]) => title), 'against onnxruntime-node'],
      readmeRows.map((row) => [
        row.title,
        String(row.outstanding),
        ...columns.map(([name]) => rateCell(stored, row, name)),
        timesCell(rowOf(stored, row, 'onnxruntime-node')),
      ]),
    ),
    'The best of each row is bold. The last column divides the rate of tritonts by that of `onnxruntime-node` in each round. It is the ' +
      'median of the rounds. So it may differ from the quotient of the two medians.',
    delaySentence(stored),
    origin(stored),
  ].join('\n\n');
}

/** Requests per second, with median and 99th percentile of latency, of all rows. */
export function performanceTable(stored: Stored): string {
  return [
    markdown(
      ['model', 'at once', ...columns.map(([, title]) => title)],
      readmeRows.map((row) => [
        row.title,
        String(row.outstanding),
        ...columns.map(([name]) => latencyCell(stored, row, name)),
      ]),
    ),
    'Each cell: requests/s; milliseconds from call to answer, median and 99th percentile. The best rate of each row is bold.',
    delaySentence(stored),
    origin(stored),
  ].join('\n\n');
}

function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, column) => (column === 0 ? '---' : '---:'));
  return [line(head), line(rule), ...rows.map(line)].join('\n');
}

function rowOf(stored: Stored, { model, outstanding }: ReadmeRow, name: ContestantName): ContestantRow {
  const load = stored.loads.find((one) => one.model === model && one.outstanding === outstanding);
  const row = load?.contestants.find(({ contestant }) => contestant === name);
  if (!row)
    throw new Error(`the stored results have no ${name} for ${model} with ${outstanding} outstanding`);
  return row;
}

/** The rate, in bold if its shown value is the best of the row. */
function rateCell(stored: Stored, row: ReadmeRow, name: ContestantName): string {
  const rateOf = (one: ContestantName): number =>
    Math.round(rowOf(stored, row, one).requestsPerSecond.median);
  const text = grouped(rowOf(stored, row, name).requestsPerSecond.median);
  return columns.every(([other]) => rateOf(other) <= rateOf(name)) ? `**${text}**` : text;
}

function latencyCell(stored: Stored, row: ReadmeRow, name: ContestantName): string {
  const { latency } = rowOf(stored, row, name);
  const times = latency ? `; ${significant(latency.p50)}, ${significant(latency.p99)}` : '';
  return `${rateCell(stored, row, name)}${times}`;
}

function timesCell({ ratios: { tritonts } }: ContestantRow): string {
  return tritonts ? `${significant(tritonts.median)} ×` : '';
}

/** A sentence about the lateness of timers under each contestant. */
function delaySentence({ delays }: Stored): string {
  const late = (name: ContestantName): string => {
    const row = delays.find(({ contestant }) => contestant === name);
    if (!row) throw new Error(`the stored results have no timers beside ${name}`);
    return `${significant(row.p99.median)} ms`;
  };
  return (
    `A timer shows how free the event loop is. While the ${watched.title} serves ${watched.outstanding} requests at once, a timer of ` +
    `1 ms comes ${late('tritonts')} late with tritonts (p99). With onnxruntime-node it is ${late('onnxruntime-node')}, and with ` +
    `batches by hand ${late('batched by hand')}.`
  );
}

/** A sentence about the origin of the figures. */
function origin({ date, cpu, cores, platform, threads, rounds, versions, commit }: Stored): string {
  return (
    `Measured on ${date}: ${cpu}, ${cores} virtual cores, ${platform}; Node ${versions.node}, ` +
    `ONNX Runtime ${versions.onnxruntime}, Piscina ${versions.piscina}, tritonts ${versions.tritonts} at ${commit}; ` +
    `${threads} threads for each library, medians of ${rounds} interleaved rounds. \`npm run bench -- --readme\` measures it on another machine.`
  );
}

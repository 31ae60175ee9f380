/**
 * `npm run bench -- wire`: a model in Python over HTTP and gRPC, beside Triton's own server. Both servers have their
 * defaults and the same repository, and perf_analyzer asks them in turn on the same cores. `scripts/wire.mjs` makes the
 * programs.
 */

import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeRepository } from '../../test/support/repository.js';
import { describeMachine } from '../measuring/machine.js';
import { turnOrder } from '../measuring/rounds.js';
import { count } from '../options.js';
import { significant } from '../../src/perf/plot/numbers.js';
import { machineText } from '../reports/report.js';
import { estimate, ratio, reaches, staysBelow, type Estimate } from '../reports/statistics.js';
import { table } from '../reports/table.js';
import { perfAnalyzer, type WireLoad } from './perf-analyzer.js';
import { WireServer, type Programs, type Protocol } from './servers.js';

const model = 'add';
const width = 16;
const models = {
  [model]: {
    config: `backend: "python" max_batch_size: 64 dynamic_batching { }
input [ { name: "x" data_type: TYPE_FP32 dims: [ ${width} ] } ]
output [ { name: "y" data_type: TYPE_FP32 dims: [ ${width} ] } ]
`,
    versions: {
      '1': {
        'model.py': `import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "x").as_numpy()
            responses.append(pb_utils.InferenceResponse([pb_utils.Tensor("y", x + 1)]))
        return responses
`,
      },
    },
  },
};

const protocols: readonly Protocol[] = ['http', 'grpc'];
/** The least requests a second, and the longest 99th percentile, as multiples of Triton's. */
const leastRate: Readonly<Record<Protocol, number>> = { http: 1.3, grpc: 1.1 };
const mostP99 = 1;

/** Checks that a server answers what the model says. A rival that answers nothing is fast. */
async function checkAnswer({ name, ports }: WireServer): Promise<void> {
  const data = Array.from({ length: width }, (_, i) => i);
  const response = await fetch(`http://127.0.0.1:${ports.http}/v2/models/${model}/infer`, {
    method: 'POST',
    body: JSON.stringify({ inputs: [{ name: 'x', datatype: 'FP32', shape: [1, width], data }] }),
  });
  const text = await response.text();
  const { outputs } = JSON.parse(text) as {
    readonly outputs?: readonly { readonly data: readonly number[] }[];
  };
  const answer = outputs?.[0]?.data ?? [];
  if (answer.length !== width || answer.some((value, i) => value !== i + 1))
    throw new Error(`${name} answered ${text}`);
}

/** The measurements of a server in one turn. */
interface Turn {
  readonly rate: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Processor time of the server's processes for each request, in microseconds. */
  readonly cpuUs: number;
  readonly meanBatch: number;
}

interface Settings {
  readonly rounds: number;
  readonly windowMs: number;
  readonly loads: readonly WireLoad[];
}

function readSettings(args: readonly string[]): Settings {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      concurrency: { type: 'string', default: '1,16,64' },
      rounds: { type: 'string', default: '3' },
      window: { type: 'string', default: '1000' },
    },
  });
  const { only } = values;
  if (only !== undefined && only !== 'http' && only !== 'grpc')
    throw new Error(`--only takes http or grpc, not '${only}'`);
  const levels = values.concurrency.split(',').map((one) => count('--concurrency', one));
  return {
    rounds: count('--rounds', values.rounds),
    windowMs: count('--window', values.window),
    loads: protocols
      .filter((protocol) => only === undefined || only === protocol)
      .flatMap((protocol) => levels.map((concurrency) => ({ protocol, concurrency }))),
  };
}

async function takeTurn(
  programs: Programs,
  folder: string,
  server: WireServer,
  load: WireLoad,
  windowMs: number,
): Promise<Turn> {
  const before = await server.counters(model);
  const pace = await perfAnalyzer(programs, folder, model, server.ports[load.protocol], load, windowMs);
  const after = await server.counters(model);
  const requests = after.requests - before.requests;
  return {
    ...pace,
    cpuUs: (after.cpuUs - before.cpuUs) / requests,
    meanBatch: requests / (after.batches - before.batches),
  };
}

/** A quotient with its spread. */
function shown({ median, spread }: Estimate): string {
  return spread === undefined ? significant(median) : `${significant(median)} ± ${significant(spread)}`;
}

async function rowOf(
  programs: Programs,
  folder: string,
  servers: readonly [ours: WireServer, triton: WireServer],
  load: WireLoad,
  { rounds, windowMs }: Settings,
): Promise<string[]> {
  const turns = new Map<WireServer, Turn[]>(servers.map((server) => [server, []]));
  for (let round = 0; round < rounds; round++) {
    for (const server of turnOrder(servers, round))
      turns.get(server)?.push(await takeTurn(programs, folder, server, load, windowMs));
  }
  const [ours = [], theirs = []] = servers.map((server) => turns.get(server));
  const of = (side: readonly Turn[], pick: (turn: Turn) => number): string =>
    significant(estimate(side.map(pick)).median);
  const quotient = (pick: (turn: Turn) => number): Estimate => ratio(ours.map(pick), theirs.map(pick));
  const rate = quotient((turn) => turn.rate);
  const p99 = quotient((turn) => turn.p99Us);
  const isMet = reaches(rate, leastRate[load.protocol]) && staysBelow(p99, mostP99);
  return [
    load.protocol,
    String(load.concurrency),
    of(ours, (turn) => turn.rate),
    of(theirs, (turn) => turn.rate),
    shown(rate),
    `${of(ours, (turn) => turn.p50Us)} / ${of(theirs, (turn) => turn.p50Us)}`,
    shown(quotient((turn) => turn.p50Us)),
    `${of(ours, (turn) => turn.p99Us)} / ${of(theirs, (turn) => turn.p99Us)}`,
    shown(p99),
    `${of(ours, (turn) => turn.cpuUs)} / ${of(theirs, (turn) => turn.cpuUs)}`,
    `${of(ours, (turn) => turn.meanBatch)} / ${of(theirs, (turn) => turn.meanBatch)}`,
    isMet ? 'met' : 'MISSED',
  ];
}

const head = [
  ...['protocol', 'callers', 'requests/s', "Triton's", 'of it', 'p50 µs', 'of it', 'p99 µs', 'of it'],
  ...['CPU µs a request', 'mean batch', 'required'],
];

/** Measures all loads, and prints the table. */
export async function measureWire(programs: Programs, args: readonly string[]): Promise<void> {
  const settings = readSettings(args);
  const machine = describeMachine();
  const folder = await mkdtemp(join(tmpdir(), 'tritonts-wire-'));
  const servers: WireServer[] = [];
  try {
    const repository = join(folder, 'models');
    await mkdir(repository);
    await writeRepository(repository, models);
    const ours = await WireServer.ours(repository, programs);
    servers.push(ours);
    const triton = await WireServer.triton(repository, programs);
    servers.push(triton);
    for (const server of servers) await checkAnswer(server);
    // V8 compiles in the first seconds of a load.
    for (const protocol of new Set(settings.loads.map((load) => load.protocol))) {
      for (const server of servers)
        await takeTurn(programs, folder, server, { protocol, concurrency: 16 }, settings.windowMs);
    }
    const rows: string[][] = [];
    for (const load of settings.loads)
      rows.push(await rowOf(programs, folder, [ours, triton], load, settings));
    console.log(
      `${machineText(machine)}
x + 1 of ${width} floats in Python, ${settings.rounds} interleaved round(s) of three windows of ${settings.windowMs} ms
Pairs are ours and Triton's. Required: ${leastRate.http} of Triton's requests/s over HTTP, ${leastRate.grpc} over gRPC, ${mostP99} of its p99

${table(head, rows)}`,
    );
  } finally {
    for (const server of servers) await server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * `npm run bench -- endpoints [--only http | grpc]`: compares a server over HTTP with a bare `node:http` handler, which
 * collects the same body and answers with an equal one. Each server is a process; this process is the client. The
 * windows of both alternate.
 */
import { parseArgs } from 'node:util';
import { Child } from '../measuring/child.js';
import { connections, type Load, type Pace } from './endpoint-client.js';
import { measureGrpc } from './grpc-endpoints.js';
import { endpointLoads, type ServerQuestion } from './endpoint-server.js';
import { median } from '../reports/statistics.js';

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    window: { type: 'string', default: '500' },
  },
});
const rounds = Number(values.rounds);
const windowMs = Number(values.window);
if (!(rounds >= 1) || !(windowMs >= 1))
  throw new RangeError('expected numbers from 1 on for --rounds and --window');

/** The measurements of a server in a window. */
interface Window extends Pace {
  /** Microseconds of CPU time per request. */
  readonly cpuUs: number;
}

async function measure(child: Child<ServerQuestion>, load: Load): Promise<Window> {
  const before = await child.ask({ ask: 'cpu' });
  const pace = await connections(load, windowMs);
  return { ...pace, cpuUs: ((await child.ask({ ask: 'cpu' })) - before) / pace.requests };
}

/** The 99th percentile of a server's event loop delay under the load, in milliseconds. */
async function loopDelay(child: Child<ServerQuestion>, load: Load): Promise<number> {
  await child.ask({ ask: 'delay' });
  await connections(load, 2 * windowMs);
  return child.ask({ ask: 'delay' });
}

const warmUpMs = 3000;
const file = new URL('endpoint-server.js', import.meta.url);
const show = (value: number, digits = 2): string => value.toFixed(digits);

const isWanted = (protocol: string): boolean => values.only === undefined || values.only === protocol;

for (const [name, { atOnce, bodies, headers }] of isWanted('http') ? Object.entries(endpointLoads) : []) {
  const ours = new Child<ServerQuestion>(file, ['ours', name]);
  const bare = new Child<ServerQuestion>(file, ['bare', name]);
  try {
    const loadOf = async (child: Child<ServerQuestion>): Promise<Load> => ({
      port: await child.answer(),
      path: `/v2/models/${name}/infer`,
      headers,
      bodies: bodies(),
      atOnce,
    });
    const ourLoad = await loadOf(ours);
    const bareLoad = await loadOf(bare);
    // Warm both up first: V8 compiles on threads of the process, whose CPU time would be counted.
    await connections(ourLoad, warmUpMs);
    await connections(bareLoad, warmUpMs);
    const batchesBefore = await ours.ask({ ask: 'batches' });
    const rowsBefore = await ours.ask({ ask: 'rows' });
    const measured: { ours: Window; bare: Window }[] = [];
    for (let round = 0; round < rounds; round++) {
      const first = await measure(bare, bareLoad);
      const second = await measure(ours, ourLoad);
      measured.push({ ours: second, bare: first });
    }
    const batches = (await ours.ask({ ask: 'batches' })) - batchesBefore;
    const rows = (await ours.ask({ ask: 'rows' })) - rowsBefore;
    const bareDelay = await loopDelay(bare, bareLoad);
    const ourDelay = await loopDelay(ours, ourLoad);
    const of = (pick: (one: { ours: Window; bare: Window }) => number): number => median(measured.map(pick));
    console.log(`${name}, ${atOnce} at once, medians of ${rounds} windows of ${windowMs} ms`);
    console.log(
      `  requests/s: ${show(
        of((one) => one.ours.rate),
        0,
      )}, bare ${show(
        of((one) => one.bare.rate),
        0,
      )}: ${show(of((one) => one.ours.rate / one.bare.rate))} x (wanted: 0.75 and more)`,
    );
    console.log(
      `  CPU of the server a request: ${show(
        of((one) => one.ours.cpuUs),
        1,
      )} µs, bare ${show(
        of((one) => one.bare.cpuUs),
        1,
      )} µs: ${show(of((one) => one.ours.cpuUs / one.bare.cpuUs))} x (wanted: 1.4 and less)`,
    );
    console.log(
      `  p99: ${show(of((one) => one.ours.p99Ms))} ms, bare ${show(of((one) => one.bare.p99Ms))} ms: ${show(of((one) => one.ours.p99Ms / one.bare.p99Ms))} x (wanted: 1.5 and less); mean batch ${show(rows / batches, 1)}`,
    );
    console.log(
      `  event loop late, p99 beside ${atOnce} clients: ${show(ourDelay, 1)} ms, bare ${show(bareDelay, 1)} ms`,
    );
  } finally {
    await ours.close();
    await bare.close();
  }
}

if (isWanted('grpc')) await measureGrpc(rounds, windowMs, warmUpMs);

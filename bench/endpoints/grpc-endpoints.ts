/**
 * Compares a server over gRPC with two echo servers: one on bare node:http2, and one on @grpc/grpc-js. Each server is a
 * process; this process is the client. The windows of all three alternate.
 */
import { Child } from '../measuring/child.js';
import type { Pace } from './endpoint-client.js';
import { grpcConnections, type GrpcLoad } from './grpc-client.js';
import { grpcLoads, inferPath, type GrpcQuestion } from './grpc-server.js';
import { median } from '../reports/statistics.js';

const kinds = ['bare', 'grpc-js', 'ours'] as const;
type Kind = (typeof kinds)[number];

/** The measurements of a server in a window. */
interface Window extends Pace {
  /** Microseconds of CPU time per request. */
  readonly cpuUs: number;
}

type Round = Readonly<Record<Kind, Window>>;

async function measure(child: Child<GrpcQuestion>, load: GrpcLoad, windowMs: number): Promise<Window> {
  const before = await child.ask({ ask: 'cpu' });
  const pace = await grpcConnections(load, windowMs);
  return { ...pace, cpuUs: ((await child.ask({ ask: 'cpu' })) - before) / pace.requests };
}

const show = (value: number, digits = 2): string => value.toFixed(digits);

/** Measures all loads, and prints the results. */
export async function measureGrpc(rounds: number, windowMs: number, warmUpMs: number): Promise<void> {
  const file = new URL('grpc-server.js', import.meta.url);
  for (const [name, { connections, streams, message }] of Object.entries(grpcLoads)) {
    const make = (kind: Kind): Child<GrpcQuestion> => new Child<GrpcQuestion>(file, [kind, name]);
    const children = { bare: make('bare'), 'grpc-js': make('grpc-js'), ours: make('ours') };
    try {
      const loadOf = async (kind: Kind): Promise<GrpcLoad> => {
        const port = await children[kind].answer();
        const load = { port, path: inferPath, message: message(), connections, streams };
        // Warm up all servers before measuring.
        await grpcConnections(load, warmUpMs);
        return load;
      };
      const loads = {
        bare: await loadOf('bare'),
        'grpc-js': await loadOf('grpc-js'),
        ours: await loadOf('ours'),
      };
      const { ours } = children;
      const batchesBefore = await ours.ask({ ask: 'batches' });
      const rowsBefore = await ours.ask({ ask: 'rows' });
      const measured: Round[] = [];
      for (let round = 0; round < rounds; round++) {
        const one = (kind: Kind): Promise<Window> => measure(children[kind], loads[kind], windowMs);
        measured.push({ bare: await one('bare'), 'grpc-js': await one('grpc-js'), ours: await one('ours') });
      }
      const batches = (await ours.ask({ ask: 'batches' })) - batchesBefore;
      const rows = (await ours.ask({ ask: 'rows' })) - rowsBefore;
      await ours.ask({ ask: 'watch' });
      await grpcConnections(loads.ours, windowMs);
      const delay = await ours.ask({ ask: 'delay' });
      const of = (pick: (one: Round) => number): number => median(measured.map(pick));
      const each = (pick: (one: Window) => number, digits: number): string =>
        kinds
          .map(
            (kind) =>
              `${kind} ${show(
                of((one) => pick(one[kind])),
                digits,
              )}`,
          )
          .join(', ');
      const ratio = (kind: Kind, pick: (one: Window) => number): string =>
        show(of((one) => pick(one.ours) / pick(one[kind])));
      const rate = (one: Window): number => one.rate;
      const p99 = (one: Window): number => one.p99Ms;
      const cpu = (one: Window): number => one.cpuUs;
      console.log(
        `gRPC ${name}, ${connections} connections with ${streams} calls each, medians of ${rounds} windows of ${windowMs} ms`,
      );
      console.log(
        `  requests/s: ${each(rate, 0)}: ${ratio('bare', rate)} x bare (wanted: 0.8 and more), ${ratio('grpc-js', rate)} x grpc-js (wanted: 1.5 and more)`,
      );
      console.log(`  CPU of the server a request: ${each(cpu, 1)} µs: ${ratio('bare', cpu)} x bare`);
      console.log(
        `  p99: ${each(p99, 2)} ms: ${ratio('bare', p99)} x bare (wanted: 1.5 and less); mean batch ${show(rows / batches, 1)}; event loop p99 ${show(delay)} ms late`,
      );
    } finally {
      for (const child of Object.values(children)) await child.close();
    }
  }
}

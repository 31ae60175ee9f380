/** The two servers of the comparison, as processes with a model repository: ours, and Triton's own. */

import { spawn, type ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../command/main.js', import.meta.url));

/** How long a server may take to start, in milliseconds. */
const startMs = 60_000;
/** Bytes of a server's output that are kept, for the error if it does not start. */
const mostOutput = 4000;

/** Programs that the comparison needs, with their environments. */
export interface Programs {
  readonly perfAnalyzer: { readonly program: string; readonly env: NodeJS.ProcessEnv };
  /** The Python of the models of both servers. */
  readonly python: string;
  readonly triton: {
    readonly program: string;
    /** Folder of its backends. */
    readonly backends: string;
    readonly env: NodeJS.ProcessEnv;
  };
}

/** The protocols that are compared. */
export type Protocol = 'http' | 'grpc';

/** The ports of a server. */
interface Ports {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
}

/** Counters of a server: processor time of its processes, and of its model. */
export interface Counters {
  readonly cpuUs: number;
  readonly requests: number;
  readonly batches: number;
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      // The server listens on a port, so the address is not the name of a pipe.
      const { port } = probe.address() as { port: number };
      probe.close(() => {
        resolve(port);
      });
    });
  });
}

/** A process and its descendants. */
function family(pid: number): number[] {
  const all = [pid];
  for (const one of all) {
    try {
      for (const thread of readdirSync(`/proc/${one}/task`)) {
        const text = readFileSync(`/proc/${one}/task/${thread}/children`, 'utf8').trim();
        if (text !== '') all.push(...text.split(' ').map(Number));
      }
    } catch {
      // It has ended meanwhile.
    }
  }
  return all;
}

/** Processor time of a process, in microseconds. The kernel counts hundredths of a second. */
function cpuUsOf(pid: number): number {
  try {
    // The fields after the name, which may contain spaces and parentheses: user and system time are 12 and 13.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * 10_000;
  } catch {
    return 0; // It has ended meanwhile.
  }
}

/** See the head of this file. */
export class WireServer {
  readonly name: string;
  readonly ports: Ports;
  readonly #process: ChildProcess;
  #output = '';

  private constructor(name: string, ports: Ports, process: ChildProcess) {
    this.name = name;
    this.ports = ports;
    this.#process = process;
    const keep = (text: string): void => {
      this.#output = (this.#output + text).slice(-mostOutput);
    };
    process.stdout?.setEncoding('utf8').on('data', keep);
    process.stderr?.setEncoding('utf8').on('data', keep);
  }

  static async #start(
    name: string,
    program: string,
    args: (ports: Ports) => readonly string[],
    env: NodeJS.ProcessEnv,
  ): Promise<WireServer> {
    const ports = { http: await freePort(), grpc: await freePort(), metrics: await freePort() };
    const child = spawn(program, args(ports), { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const server = new WireServer(name, ports, child);
    await server.#untilReady();
    return server;
  }

  /** Starts `tritonts serve`, with its defaults. */
  static ours(repository: string, { python }: Programs): Promise<WireServer> {
    const args = ({ http, grpc, metrics }: Ports): string[] => [
      ...[main, 'serve', `--model-repository=${repository}`, `--backend-config=python,executable=${python}`],
      ...[`--http-port=${http}`, `--grpc-port=${grpc}`, `--metrics-port=${metrics}`],
    ];
    return WireServer.#start('tritonts', process.execPath, args, process.env);
  }

  /** Starts `tritonserver`, with its defaults. */
  static triton(repository: string, { triton }: Programs): Promise<WireServer> {
    const args = ({ http, grpc, metrics }: Ports): string[] => [
      ...[`--model-repository=${repository}`, `--backend-directory=${triton.backends}`],
      ...[`--http-port=${http}`, `--grpc-port=${grpc}`, `--metrics-port=${metrics}`],
    ];
    return WireServer.#start('Triton', triton.program, args, triton.env);
  }

  async #untilReady(): Promise<void> {
    const end = performance.now() + startMs;
    for (;;) {
      const ready = await fetch(`http://127.0.0.1:${this.ports.http}/v2/health/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
      if (ready) return;
      if (this.#process.exitCode !== null || performance.now() > end) {
        await this.close();
        throw new Error(`${this.name} does not start:\n${this.#output}`);
      }
      await sleep(50);
    }
  }

  /** What the server has done since its start. */
  async counters(model: string): Promise<Counters> {
    const response = await fetch(`http://127.0.0.1:${this.ports.http}/v2/models/${model}/stats`);
    const { model_stats: statistics } = (await response.json()) as {
      readonly model_stats: readonly { readonly inference_count: number; readonly execution_count: number }[];
    };
    const { pid } = this.#process;
    return {
      cpuUs: pid === undefined ? 0 : family(pid).reduce((sum, one) => sum + cpuUsOf(one), 0),
      requests: statistics[0]?.inference_count ?? 0,
      batches: statistics[0]?.execution_count ?? 0,
    };
  }

  /** Ends the process. */
  async close(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#process.kill('SIGTERM');
    const timer = setTimeout(() => this.#process.kill('SIGKILL'), 10_000);
    await ended;
    clearTimeout(timer);
  }
}

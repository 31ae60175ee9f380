/** Runs `tritonts serve` in a process of its own, and waits until it listens. */

import { spawn, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ChildOutcome } from '../../support/child.js';
import { identity } from '../../support/harness.js';
import {
  temporaryFolder,
  writeRepository,
  type Context,
  type RepositoryModel,
} from '../../support/repository.js';

const main = fileURLToPath(new URL('../../../command/main.js', import.meta.url));

/** The address of an endpoint, in the form of the HTTP helpers. */
export interface Place {
  readonly address: { readonly host: string; readonly port: number };
}

/** A process that serves. */
export interface Served {
  readonly child: ChildProcess;
  /** The log so far. */
  log(): string;
  /** Resolves when the log matches. */
  said(what: RegExp): Promise<void>;
  /** The address of a service, from the log. */
  place(
    service: 'GRPCInferenceService' | 'HTTPService' | 'Metrics Service' | 'OpenAI Service',
  ): Promise<Place>;
  readonly ended: Promise<ChildOutcome>;
}

/** A child that has not ended by then is killed, and the signal of its outcome is SIGKILL. */
const limitMs = 120_000;

/** Flags for free ports. */
export const anyPorts: readonly string[] = ['--http-port=0', '--metrics-port=0', '--allow-grpc=false'];

/** Starts `tritonts serve`. It is killed after the test. */
export function run(t: Context, ...args: readonly string[]): Served {
  const child = spawn(process.execPath, [main, 'serve', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), limitMs);
  let stdout = '';
  let stderr = '';
  const listeners = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    for (const listener of listeners) listener();
  });
  const ended = new Promise<ChildOutcome>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, stdout, stderr });
    });
  });
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const said = (what: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!what.test(stderr)) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      look();
      void ended.then(() => {
        reject(new Error(`it ended without ${String(what)}:\n${stderr}`));
      });
    });
  return {
    child,
    ended,
    said,
    log: () => stderr,
    async place(service) {
      const line = new RegExp(`Started ${service} at (\\S+):(\\d+)\\n`);
      await said(line);
      const [, host = '', port = ''] = line.exec(stderr) ?? [];
      return { address: { host: host === '0.0.0.0' ? '127.0.0.1' : host, port: Number(port) } };
    },
  };
}

/** Runs `tritonts serve` until it ends by itself. */
export function ran(t: Context, ...args: readonly string[]): Promise<ChildOutcome> {
  return run(t, ...args).ended;
}

/** A repository in a temporary folder. */
export async function repositoryOf(
  t: Context,
  models: Readonly<Record<string, RepositoryModel>>,
): Promise<string> {
  return writeRepository(await temporaryFolder(t), models);
}

/** A model whose runs take a while. */
export function slow(delayMs: number): RepositoryModel {
  return identity({ delayMs });
}

/** A request for one row of an identity model. */
export const oneRow: { readonly inputs: readonly [{ readonly data: readonly number[] }] } = {
  inputs: [
    { name: 'x', datatype: 'FP32', shape: [1, 16], data: Array.from({ length: 16 }, (_, i) => i) } as {
      readonly data: readonly number[];
    },
  ],
};

/** Servers as processes: from their start to their first answer. */

import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const empty = mkdtempSync(join(tmpdir(), 'tritonts-empty-'));

/** A server to start: Node's arguments, from the port to listen on. */
interface Server {
  readonly name: string;
  readonly args: (port: number) => readonly string[];
}

/** Our server, and a bare Node server for comparison. */
export function serversOf(command: string): readonly Server[] {
  return [
    {
      name: 'tritonts serve',
      args: (port) => [
        command,
        'serve',
        `--model-repository=${empty}`,
        `--http-port=${port}`,
        '--metrics-port=0',
      ],
    },
    {
      name: 'bare node:http',
      args: (port) => [
        '--input-type=module',
        '--eval',
        `import { createServer } from 'node:http'; createServer((q, r) => r.end()).listen(${port});`,
      ],
    },
  ];
}

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, () => {
      // The server listens on a port, so the address is not the name of a pipe.
      const { port } = probe.address() as { port: number };
      probe.close(() => {
        resolve(port);
      });
    });
  });
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    get({ port, path: '/v2/health/ready', agent: false }, (response) => {
      response.resume();
      resolve(true);
    }).on('error', () => {
      resolve(false);
    });
  });
}

/** Milliseconds until a new process answers. */
export async function firstAnswer(args: Server['args']): Promise<number> {
  const port = await freePort();
  const start = performance.now();
  const child = spawn(process.execPath, args(port), { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    while (!(await answers(port))) {
      if (child.exitCode !== null)
        throw new Error(`${args(port).join(' ')} ended with code ${child.exitCode}`);
      await sleep(1);
    }
    return performance.now() - start;
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}

/**
 * A process that serves a row with one commit's build: node commit.js <entry point> <repository> <row>. It uses only
 * what every commit has: createServer, infer, close, serveHttp and serveGrpc. It sends the port of a row that is
 * asked over the network, and 0 for any other row. It answers questions about the latter.
 */
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Grpc from '../../src/endpoints/grpc/serve.js';
import type * as Http from '../../src/endpoints/http/serve.js';
import type * as Package from '../../src/index.js';
import { measure, timedLoops } from '../measuring/measure.js';
import type { Question } from './question.js';
import { compareRows, pythonOf, type CompareRow } from './rows.js';

const [entry = '', repository = '', name = ''] = process.argv.slice(2);
const row = compareRows[name];
if (!row) throw new RangeError(`no row ${name}`);

/** Imports a module of the package at another commit. */
async function load<Module>(path: string): Promise<Module> {
  return (await import(pathToFileURL(path).href)) as Module;
}

const { createServer } = await load<typeof Package>(entry);
const python = pythonOf(name);
const server = await createServer(repository, {
  ...(python !== undefined && { backendConfig: { python: { executable: python } } }),
});

/** Serves a row that is asked over the network. Returns the port, and what ends it. */
async function endpoint(door: 'http' | 'grpc'): Promise<{ port: number; close(): Promise<void> }> {
  const path = join(dirname(entry), 'endpoints', door, 'serve.js');
  const options = { port: 0 };
  const served =
    door === 'http'
      ? await (await load<typeof Http>(path)).serveHttp(server, options)
      : await (await load<typeof Grpc>(path)).serveGrpc(server, options);
  return { port: served.address.port, close: () => served.close() };
}

/** The function that answers questions about a row of this process. */
function answering({
  model,
  output,
  requests,
  fast,
}: Extract<CompareRow, { door: 'process' }>): (question: Question) => Promise<number> {
  const handle = server.model(model);
  const sent = requests();
  return async ({ outstanding, windowMs }) => {
    const round = await measure(
      {
        kind: 'caller',
        name: 'tritonts',
        infer: (i) => handle.infer(sent[i % sent.length] ?? {}),
        // infer() returned it.
        read: (result) =>
          (result as Awaited<ReturnType<typeof handle.infer>>).outputs[output]?.data as Float32Array,
        close: () => Promise.resolve(),
      },
      { outstanding, windowMs, warmUpMs: windowMs / 4, timed: timedLoops(outstanding, fast) },
    );
    return round.requestsPerSecond;
  };
}

let close = (): Promise<void> => server.close();
let port = 0;
if (row.door === 'process') {
  const answer = answering(row);
  process.on('message', (message) => {
    // The parent sends nothing else.
    void answer(message as Question).then((value) => process.send?.(value));
  });
} else {
  const served = await endpoint(row.door);
  port = served.port;
  close = async () => {
    await served.close();
    await server.close();
  };
}
process.on('disconnect', () => {
  void close();
});
process.send?.(port);

/** An endpoint thread: it serves the same ports as the main thread, over its own connection to the server. */

import { parentPort, workerData } from 'node:worker_threads';
import { provideHost } from '../../../endpoints/service/host.js';
import { attachServer } from '../../../server/creation/attach-server.js';
import { RequestLog } from '../request-log.js';
import { MainThread } from './main-thread.js';
import { sentError, type ThreadData, type ToThread } from './messages.js';

/** This file is the entry of a worker_thread. */
if (parentPort === null) throw new Error('this file is for a worker_thread');
const port = parentPort;
// Set by the main thread when it made this worker.
const { handle, http, grpc, controlled, verbose } = workerData as ThreadData;
const main = new MainThread(port);
const requests = new RequestLog((line) => {
  main.say({ says: 'line', line });
});
requests.set(verbose);

/** Starts the endpoints. Returns a function that closes them. */
async function start(): Promise<(timeoutMs: number) => Promise<void>> {
  const server = await attachServer(handle);
  provideHost(server, main.host(controlled));
  const endpoints: { close(options: { readonly timeoutMs: number }): Promise<void> }[] = [];
  if (http !== undefined)
    endpoints.push(await (await import('../../../endpoints/http/serve.js')).serveHttp(server, http));
  if (grpc !== undefined)
    endpoints.push(await (await import('../../../endpoints/grpc/serve.js')).serveGrpc(server, grpc));
  return async (timeoutMs) => {
    await Promise.all(endpoints.map((endpoint) => endpoint.close({ timeoutMs })));
    await server.close({ timeoutMs: 0 });
  };
}

try {
  const close = await start();
  port.on('message', (message: ToThread) => {
    switch (message.says) {
      case 'granted':
        main.granted(message.id, message.value);
        break;
      case 'refused':
        main.refused(message.id, message.error);
        break;
      case 'verbose':
        requests.set(message.on);
        break;
      case 'close':
        void close(message.timeoutMs).then(() => {
          port.close(); // Nothing else keeps the thread alive.
        });
    }
  });
  main.say({ says: 'listening' });
} catch (error) {
  main.say({ says: 'failed', error: sentError(error) });
  port.close();
}

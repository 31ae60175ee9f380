/** A store that a test answers for. */

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import { setEnvironment } from '../../support/environment.js';

/**
 * Starts a server. The environment has keys for it.
 *
 * @returns Its port.
 */
export async function answering(
  t: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<number> {
  const server = createServer(answer);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  setEnvironment(t, {
    AWS_ACCESS_KEY_ID: 'of-the-environment',
    AWS_SECRET_ACCESS_KEY: 'a-secret',
    AWS_EC2_METADATA_DISABLED: 'true',
    AWS_PROFILE: undefined,
    TRITON_CLOUD_CREDENTIAL_PATH: undefined,
    GOOGLE_APPLICATION_CREDENTIALS: undefined,
    STORAGE_EMULATOR_HOST: undefined,
  });
  return (server.address() as AddressInfo).port;
}

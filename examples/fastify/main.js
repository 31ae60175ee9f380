/** Starts the service. On SIGTERM or SIGINT it answers every request that it has accepted, and stops. */

import { createServer } from 'tritonts';
import { createService } from './service.js';

/**
 * A number from the environment.
 *
 * @param {string} name
 * @param {number} otherwise
 */
function setting(name, otherwise) {
  const text = process.env[name];
  if (text === undefined || text === '') return otherwise;
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) throw new Error(`${name} should be a number, not '${text}'`);
  return value;
}

const graceMs = setting('GRACE_MS', 10_000);

const models = await createServer(process.env.MODELS ?? './models', {
  maxInFlightBytes: setting('MAX_IN_FLIGHT_BYTES', 64 * 1024 * 1024),
});
const service = createService(models, {
  bodyLimit: setting('BODY_LIMIT', 1024 * 1024),
  retryAfterSeconds: setting('RETRY_AFTER_SECONDS', 1),
});

const { app, counts } = service;

async function stop() {
  const inFlight = counts.taken - counts.answered;
  console.log(`stopping with ${inFlight} requests in flight`);
  service.stopping();
  // A client may never finish its request, or never read its answer. It must not delay the end for ever.
  const limit = setTimeout(() => app.server.closeAllConnections(), graceMs);
  // This accepts no more connections, and waits for the answers of open ones.
  await app.close();
  clearTimeout(limit);
  await models.close();
  console.log(`stopped: ${counts.taken} requests taken, ${counts.answered} answered`);
}

// A second signal ends the process at once.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void stop());

const address = await app.listen({ host: process.env.HOST ?? '127.0.0.1', port: setting('PORT', 3000) });
console.log(`listening on ${address}`);

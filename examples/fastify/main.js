/** Starts the service, and stops it on SIGTERM or SIGINT with every request answered that it has taken. */

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
  // A client that never finishes its request, or never reads its answer, must not hold this up for ever.
  const limit = setTimeout(() => app.server.closeAllConnections(), graceMs);
  // Accepts no more connections, and waits for the answers of those that are open.
  await app.close();
  clearTimeout(limit);
  await models.close();
  console.log(`stopped: ${counts.taken} requests taken, ${counts.answered} answered`);
}

// Once: a second signal ends the process at once.
for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => void stop());

const address = await app.listen({ host: process.env.HOST ?? '127.0.0.1', port: setting('PORT', 3000) });
console.log(`listening on ${address}`);

/** Serves models over HTTP: routes, status codes, back-pressure, health. `main.js` starts and stops it. */

import fastify from 'fastify';
import { TritonError } from 'tritonts';

/** The status code of an answer for each code of the model server's errors. Any other code becomes 500. */
const statusOfCode = new Map([
  ['INVALID_ARG', 400],
  ['NOT_FOUND', 404],
  ['UNAVAILABLE', 503],
]);

/** The better status code where an error has one of these reasons. */
const statusOfReason = new Map([
  ['QUEUE_FULL', 429],
  ['TOO_MUCH_IN_FLIGHT', 429],
  ['TIMED_OUT', 504],
]);

/** The body of a request for inference. */
const inferenceBody = {
  type: 'object',
  required: ['inputs'],
  additionalProperties: false,
  properties: {
    inputs: { type: 'object', minProperties: 1, additionalProperties: { type: 'array' } },
  },
};

/**
 * @typedef {object} ServiceOptions
 * @property {number} bodyLimit The most bytes of a request's body. A longer one is answered with 413.
 * @property {number} retryAfterSeconds The header `Retry-After` where it may be asked again.
 */

/**
 * Creates the service, which does not listen yet.
 *
 * @param {import('tritonts').InferenceServer} models
 * @param {ServiceOptions} options
 */
export function createService(models, { bodyLimit, retryAfterSeconds }) {
  const app = fastify({
    bodyLimit,
    // The model server checks inputs by the model's own configuration, so nothing may be converted before.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  });
  /** How many requests for inference were accepted, and how many of their answers were written. */
  const counts = { taken: 0, answered: 0 };
  let stopping = false;

  app.get('/v2/health/live', () => ({ live: true }));

  app.get('/v2/health/ready', (_request, reply) => {
    const ready = models.ready && !stopping;
    return reply.code(ready ? 200 : 503).send({ ready });
  });

  app.post('/models/:name/infer', { schema: { body: inferenceBody } }, async (request, reply) => {
    const { name } = /** @type {{ name: string }} */ (request.params);
    const { inputs } = /** @type {{ inputs: import('tritonts').Inputs }} */ (request.body);
    counts.taken += 1;
    // If a client disconnects, its request is cancelled.
    const gone = new AbortController();
    reply.raw.once('close', () => {
      if (reply.raw.writableFinished) counts.answered += 1;
      else gone.abort();
    });
    const { model, outputs } = await models.infer(name, inputs, { signal: gone.signal });
    return { model, outputs };
  });

  app.setErrorHandler((error, _request, reply) => {
    if (error instanceof TritonError) {
      const { code, reason, message, retryable } = error;
      const status = statusOfReason.get(reason ?? '') ?? statusOfCode.get(code) ?? 500;
      // The same request may succeed later, such as when less is in flight.
      if (retryable) reply.header('retry-after', retryAfterSeconds);
      return reply.code(status).send({ code, reason, message });
    }
    // This is one of Fastify's own errors, such as a body that is too long or is not JSON.
    return reply.send(error);
  });

  // While the service stops, each answer is the last of its connection, which would stay open otherwise.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (stopping) reply.header('connection', 'close');
    done(null, payload);
  });

  return {
    app,
    counts,

    /** Makes the service report that it is not ready, so that load balancers choose another one. */
    stopping() {
      stopping = true;
    },
  };
}

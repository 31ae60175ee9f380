/** Models behind HTTP: routes, status codes, back-pressure, health. `main.js` starts and stops it. */

import fastify from 'fastify';
import { TritonError } from 'tritonts';

/** The status code of an answer, by the code of the model server's error; any other code is 500. */
const statusOf = new Map([
  ['INVALID_ARG', 400],
  ['NOT_FOUND', 404],
  ['UNAVAILABLE', 503],
]);

/** What a client sends to have a model run. */
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
 * @property {number} bodyLimit Bytes that a request's body may have; a longer one is answered with 413.
 * @property {number} retryAfterSeconds What an answer 503 says in `Retry-After`.
 */

/**
 * Makes the service; it does not listen yet.
 *
 * @param {import('tritonts').InferenceServer} models
 * @param {ServiceOptions} options
 */
export function createService(models, { bodyLimit, retryAfterSeconds }) {
  const app = fastify({
    bodyLimit,
    // Inputs are checked by the model server, by the model's own configuration: nothing is converted before that.
    ajv: { customOptions: { coerceTypes: false, removeAdditional: false } },
  });
  /** Requests for inference that were taken, and those whose answer has been written out. */
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
    // A client that goes away takes its request with it, if that still waits.
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
      const status = statusOf.get(error.code) ?? 500;
      // Too much is in flight: the client is told to come again, in place of a queue that grows.
      if (status === 503) reply.header('retry-after', retryAfterSeconds);
      return reply.code(status).send({ code: error.code, message: error.message });
    }
    // Fastify's own errors, such as a body that is too long or no JSON.
    return reply.send(error);
  });

  // While it stops, each answer is the last of its connection, which could not end otherwise.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (stopping) reply.header('connection', 'close');
    done(null, payload);
  });

  return {
    app,
    counts,

    /** From now on not ready: who sends requests here should choose another service. */
    stopping() {
      stopping = true;
    },
  };
}

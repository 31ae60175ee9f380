import { fileURLToPath } from 'node:url';
import { createServer, TritonError } from 'tritonts';

/** The status code of an answer for each code of the server's errors. Any other code becomes 500. */
const statusOfCode = new Map([
  ['INVALID_ARG', 400],
  ['NOT_FOUND', 404],
  ['UNAVAILABLE', 503],
]);

// Outside of the handler: models are loaded once, while the environment starts, and not for each request.
const server = await createServer(fileURLToPath(new URL('./models', import.meta.url)));

/**
 * Answers an event of a function's URL or of an HTTP API: `{ "image": [64 numbers] }` to `{ "digit": 7, "scores": [10 numbers] }`.
 *
 * @param {{ body?: string, isBase64Encoded?: boolean }} event
 */
export async function handler({ body = '', isBase64Encoded = false }) {
  try {
    const { image } = parsed(isBase64Encoded ? Buffer.from(body, 'base64').toString() : body);
    const { outputs } = await server.infer('digits', { image: [image] });
    return answer(200, { digit: outputs.scores.argMax()[0], scores: [...outputs.scores.as('FP32').data] });
  } catch (error) {
    // What is not the server's error is a fault of this program: Lambda logs it, and the caller gets 502.
    if (!(error instanceof TritonError)) throw error;
    const { code, message } = error;
    return answer(statusOfCode.get(code) ?? 500, { code, message });
  }
}

/**
 * The object in a body.
 *
 * @param {string} body
 */
function parsed(body) {
  try {
    const value = JSON.parse(body);
    if (Array.isArray(value?.image)) return value;
  } catch {
    // The message below says what is expected.
  }
  throw new TritonError('INVALID_ARG', 'expected a JSON object with the field image, a list of 64 numbers');
}

/**
 * @param {number} statusCode
 * @param {object} body
 */
function answer(statusCode, body) {
  return { statusCode, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** The models' process, started by `utilityProcess.fork`. It answers questions that come over its ports. */

import { createServer, TritonError } from 'tritonts';

/**
 * A question of a page, and its answer: the index of the largest score, or what went wrong.
 *
 * @typedef {{ id: number, image: Float32Array }} Question
 * @typedef {{ id: number, digit: number, microseconds: number } | { id: number, code: string, message: string }} Answer
 */

const [repository] = process.argv.slice(2);
if (repository === undefined) throw new Error('models.js is given the model repository');
// Messages wait until somebody listens, so nothing is lost while models load.
const server = await createServer(repository);

/**
 * Answers a question.
 *
 * @param {Question} question
 * @returns {Promise<Answer>}
 */
async function answer({ id, image }) {
  try {
    const { outputs, timings } = await server.infer('digits', { image });
    const scores = outputs.scores?.toFloat32() ?? new Float32Array();
    return { id, digit: scores.indexOf(Math.max(...scores)), microseconds: timings.computeInferNs / 1000 };
  } catch (error) {
    return {
      id,
      code: error instanceof TritonError ? error.code : 'UNKNOWN',
      message: error instanceof Error ? error.message : String(error),
    };
  }
}

process.parentPort.on('message', ({ data, ports: [port] }) => {
  if (data === 'close') {
    // close() answers what is in flight. The process has to be ended then, because its ports keep it alive.
    void server.close().then(
      () => process.exit(0),
      (error) => {
        console.error(error);
        process.exit(1);
      },
    );
    return;
  }
  if (!port) return;
  port.on('message', ({ data: question }) => {
    void answer(question).then((said) => {
      port.postMessage(said);
    });
  });
  port.start();
});

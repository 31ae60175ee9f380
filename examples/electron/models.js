/** The models' process, started by `utilityProcess.fork`: answers what comes over the ports that it is given. */

import { createServer, TritonError } from 'tritonts';

/**
 * What a page sends, and what it gets: the index of the largest score, or what went wrong.
 *
 * @typedef {{ id: number, image: Float32Array }} Question
 * @typedef {{ id: number, digit: number, microseconds: number } | { id: number, code: string, message: string }} Answer
 */

const [repository] = process.argv.slice(2);
if (repository === undefined) throw new Error('models.js is given the model repository');
// Messages wait until somebody listens, so that nothing is lost while models load.
const server = await createServer(repository);

/**
 * Answers one question.
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
    // Answers what is in flight. The process ends with it: its ports would keep it alive.
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

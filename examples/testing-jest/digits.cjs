/** The code under test: it asks a model for the digit in a picture. */

const pauseMs = 1000;

/** The digit in a picture of 8 by 8 pixels. A server that is busy is asked once more, after a second. */
async function digitOf(server, pixels) {
  try {
    return await ask(server, pixels);
  } catch (error) {
    if (!error.retryable) throw error;
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    return await ask(server, pixels);
  }
}

async function ask(server, pixels) {
  const { outputs } = await server.infer('digits', { image: pixels });
  const scores = outputs.scores.data;
  return scores.indexOf(Math.max(...scores));
}

module.exports = { digitOf };

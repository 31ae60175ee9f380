// Asks a Python model in an app, whose processes are not Electron's: node --import stand-in.mjs <app>/python-model.mjs <repository> <python>.
// Prints what it answers as JSON, or the error.
import { createServer } from 'tritonts';

const [repository, executable] = process.argv.slice(2);
try {
  const server = await createServer(repository, { backendConfig: { python: { executable } } });
  const { outputs } = await server.infer('where', { x: { data: Float32Array.of(1), shape: [1] } });
  console.log(JSON.stringify(Array.from(outputs.files.data, (name) => Buffer.from(name).toString())));
  await server.close();
} catch (error) {
  console.log(JSON.stringify({ code: error.code, message: error.message }));
}
// The stand-in waits for a question.
process.exit();

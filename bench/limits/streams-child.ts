/** The process that measures streams of the native backend, with the tests' build of the addon. */
import { createServer } from '../../src/index.js';
import { asking, streaming } from '../../test/streams/harness.js';
import { writeRepository } from '../../test/support/repository.js';
import { readRate } from './streams.js';

const [folder = ''] = process.argv.slice(2);
await writeRepository(folder, {
  s1: streaming({ parameters: { ahead: 1 } }),
  s16: streaming({ parameters: { ahead: 16 } }),
  s64: streaming({ parameters: { ahead: 64 } }),
});
const server = await createServer(folder);

process.on('message', ({ ahead, responses }: { readonly ahead: number; readonly responses: number }) => {
  void readRate([server.stream(`s${ahead}`, asking(responses))]).then((rate) => process.send?.(rate));
});
process.once('disconnect', () => void server.close());
process.send?.(0);

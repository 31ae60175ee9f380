// A user's program with a closed registry: `tritonts types --strict`. It is compiled, not run.

import { createServer, type Model } from 'tritonts';
import { connectServer } from 'tritonts/client';

const server = await createServer('./models');
const x = new Float32Array(16);
await server.model('typed').infer({ x });
for await (const { outputs } of server.stream('typed', { x })) outputs.y.data.fill(0);

// @ts-expect-error misspelt
server.model('tpyed');
// @ts-expect-error misspelt
await server.infer('tpyed', { x });
// @ts-expect-error misspelt
server.stream('tpyed', { x });

// Names that come at run time are checked where they come from.
declare const name: string;
// @ts-expect-error any text
server.model(name);
export const general: Model = server.model(name as 'typed');

// By their names, too, models get only what their signatures say.
const remote = await connectServer('http://localhost:8000');
// @ts-expect-error it is decoupled
await server.infer('words', { text: ['a b'] });
// @ts-expect-error it is decoupled
await remote.infer('words', { text: ['a b'] });
// @ts-expect-error x is missing
await remote.infer('typed', {});
// @ts-expect-error misspelt
await remote.model('typd');

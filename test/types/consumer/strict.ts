// A user's program with a closed registry: `tritonts types --strict`. It is compiled, not run.

import { createServer, type Model } from 'tritonts';

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

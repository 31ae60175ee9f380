// A user's program with models of each kind, which the test compiles with the types that `tritonts types` wrote. It is not run.

import { createServer } from 'tritonts';
import { connectServer, type RemoteModel } from 'tritonts/client';

const server = await createServer('./models');
const remote = await connectServer('http://localhost:8000');
const x = new Float32Array(16);

// A decoupled model streams, and neither infer nor map takes its inputs.
for await (const { outputs } of server.model('words').stream({ text: ['a b'] })) outputs.word.strings();
for await (const { outputs } of server.stream('words', { text: ['a b'] })) outputs.word.strings();
// @ts-expect-error misspelt
server.model('words').stream({ txt: ['a b'] });
// @ts-expect-error it is decoupled
await server.model('words').infer({ text: ['a b'] });
// @ts-expect-error it is decoupled
server.model('words').map([{ text: ['a b'] }]);

// A model that is not decoupled has both.
for await (const { outputs } of server.model('typed').stream({ x })) outputs.y.data.fill(0);

// Sequences.
const sequence = server.model('sums').sequence({ id: 7 });
const { outputs: sums } = await sequence.infer({ x: [[1]] });
export const sum: Int32Array = sums.y.data;
await sequence.end({ x: [[1]] }, { outputs: ['y'] });
await sequence.end();
// @ts-expect-error control tensors and states are the server's
await sequence.infer({ x: [[1]], START: [[1]] });
// @ts-expect-error another element type
await sequence.infer({ x: ['one'] });

// Reshaped tensors have the names and datatypes of the configuration.
const { outputs: reshaped } = await server.infer('reshaped', { x: [1, 2, 3, 4] });
reshaped.y.data.fill(0);

// Optional inputs may be left out, or be undefined; BYTES takes texts and bytes.
await server.infer('typed', { x, 'some words': undefined });
await server.infer('typed', { x, 'some words': [Buffer.from('a')] });
// @ts-expect-error numbers are no texts
await server.model('typed').infer({ x, 'some words': [1] });

// Classes are strings, and the other outputs keep their types.
const { outputs: classes } = await server.infer(
  'typed',
  { x },
  { outputs: [{ name: 'y', classification: 2 }, 'some words'] },
);
classes.y.strings();
classes['some words'].strings();

// The same for servers of other processes.
const far = await remote.model('typed');
const { outputs } = await far.infer({ x }, { id: 'one' });
outputs.y.data.fill(0);
outputs['some words'].strings();
// @ts-expect-error results of other processes have no timings
(await far.infer({ x })).timings;
const { outputs: wanted } = await far.infer({ x }, { outputs: ['y'] });
wanted.y.data.fill(0);
// @ts-expect-error not asked for
wanted['some words'];
const { outputs: farClasses } = await remote.infer(
  'typed',
  { x },
  { outputs: [{ name: 'y', classification: 3 }], version: 1 },
);
farClasses.y.strings();
// @ts-expect-error misspelt
await far.infer({ x }, { outputs: ['z'] });
// @ts-expect-error x is missing
await far.infer({});
// @ts-expect-error it is decoupled
await (await remote.model('words')).infer({ text: ['a b'] });
for await (const { outputs } of (await remote.model('words')).stream({ text: ['a'] })) outputs.word.strings();
for await (const { outputs } of far.map([{ x }])) outputs.y.data.fill(0);
for await (const outcome of far.map([{ x }], { onError: 'yield' })) {
  if (outcome.error) console.error(outcome.error.code);
  else outcome.result.outputs.y.data.fill(0);
}
const farSequence = (await remote.model('sums')).sequence();
(await farSequence.infer({ x: [[1]] }, { outputs: ['y'] })).outputs.y.data.fill(0);
(await farSequence.end({ x: [[1]] })).outputs.y.data.fill(0);
await farSequence.end();
// @ts-expect-error misspelt
await farSequence.infer({ y: [[1]] });

// Names that are not declared are models of any kind.
const other: RemoteModel = await remote.model('other');
(await other.infer({ anything: [1] })).outputs['any']?.data;
(await server.model('other').infer({ anything: [1] })).outputs['any']?.data;

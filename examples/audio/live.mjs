// Prints the keys of a sound while it arrives: node live.mjs < recordings/call.wav, or arecord -f cd | node live.mjs
import { createServer } from 'tritonts';
import { keysOf } from './listener.mjs';

const server = await createServer('./models', { modelControlMode: 'explicit', loadModels: ['listen'] });
for await (const key of keysOf(server.model('listen'), process.stdin)) process.stdout.write(key);
process.stdout.write('\n');
await server.close();

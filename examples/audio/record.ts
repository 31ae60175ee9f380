/** Makes the recording of this example: `node dist/examples/audio/record.js` in the top folder. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { randomOf } from '../../src/perf/inputs/random.js';
import { recording } from './folder.js';
import { dialled, wavFile } from './synthesis.js';

/** Samples a second, other than those that the models take. */
const rate = 11_025;

/** The recording: the keys 0, 4, 2, # with some noise. */
export function recorded(): Buffer {
  const sound = { rate, on: 0.08, off: 0.06, level: 0.3, noise: 0.05, random: randomOf(7) };
  return wavFile(dialled('042#', sound), rate);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) writeFileSync(recording, recorded());

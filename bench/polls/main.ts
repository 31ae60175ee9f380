/**
 * `npm run bench -- polls`: requests in flight while polls add, change and remove versions and models. It fails if a request fails
 * that did not ask for what was gone, or if an answer is wrong.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { changeUnderTraffic, pollsOfRound, trafficServer } from '../../test/registry/polling/traffic.js';

const { values } = parseArgs({
  options: {
    polls: { type: 'string', default: '200' },
    requests: { type: 'string', default: '20000' },
  },
});
const [polls, inFlight] = [Number(values.polls), Number(values.requests)];
const place = await mkdtemp(join(tmpdir(), 'tritonts-polls-'));
try {
  const [folder, other] = ['models', 'other'].map((name) => join(place, name)) as [string, string];
  await mkdir(other);
  await using server = await trafficServer(folder);
  const began = performance.now();
  const outcome = await changeUnderTraffic(server, folder, other, {
    rounds: Math.ceil(polls / pollsOfRound),
    inFlight,
  });
  const seconds = (performance.now() - began) / 1000;
  console.log(`${inFlight} callers, ${outcome.polls} polls in ${seconds.toFixed(1)} s`);
  console.log(`in flight at the begin of a poll: ${outcome.inFlight.join(' to ')}`);
  console.log(
    `${outcome.answered} answered, ${outcome.gone} refused because their model was gone, none failed`,
  );
} finally {
  await rm(place, { recursive: true, force: true });
}

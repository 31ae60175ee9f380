import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../support/repository.js';
import { changeUnderTraffic, pollsOfRound, trafficServer } from './traffic.js';

test('only requests for what is gone fail while polls change everything', async (t) => {
  const folder = await temporaryFolder(t);
  const server = await trafficServer(folder);
  t.after(() => server.close());
  const rounds = 6;
  const outcome = await changeUnderTraffic(server, folder, await temporaryFolder(t), {
    rounds,
    inFlight: 800,
  });
  assert.equal(outcome.polls, rounds * pollsOfRound);
  assert.ok(outcome.gone > 0);
  assert.ok(outcome.answered > 2000, `${outcome.answered} answers`);
  assert.ok(outcome.inFlight[0] > 200, outcome.inFlight.join(' '));
});

/** Processes that do not end, because a thread of their model still runs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adds, recorded, script, serving, skip } from './harness.js';

const starts = (daemon: boolean): string => `def initialize(self, args):
    threading.Thread(target=time.sleep, args=(3600,), name="mine", daemon=${daemon ? 'True' : 'False'}).start()
${adds}`;
const finalizes = '\ndef finalize(self):\n    print("finalized")';
interface Lingering {
  readonly text: string;
  readonly warns: RegExp | undefined;
  /** The limit, which a process on a busy machine keeps to unless its model does not. */
  readonly seconds: number;
}

const thread = { warns: /thread 'mine'/, seconds: 2 };
const models: Readonly<Record<string, Lingering>> = {
  'a thread and no finalize': { text: starts(false), ...thread },
  'a thread and finalize': { text: starts(false) + finalizes, ...thread },
  'a thread, in two instances': { text: starts(false), ...thread },
  'a daemon': { text: starts(true), warns: undefined, seconds: 60 },
  'a finalize that stays': {
    text: `${adds}\ndef finalize(self):\n    time.sleep(3600)`,
    warns: /finalize did not end/,
    seconds: 0.3,
  },
};

for (const [what, { text, warns, seconds }] of Object.entries(models)) {
  for (const closes of [false, true]) {
    const how = closes ? 'closed with its server' : 'unloaded';
    test(
      `a model with ${what} that is ${how} is ended with ${warns ? 'one warning' : 'none'}`,
      { skip },
      async (t) => {
        const { logger, lines } = recorded();
        const instances = what.includes('two') ? 2 : 1;
        const server = await serving(
          t,
          { m: script(text, { instances }) },
          { logger, finalizeTimeoutMs: 1000 * seconds, modelControlMode: 'explicit', loadModels: ['m'] },
        );
        const begin = performance.now();
        if (closes) await server.close();
        else await server.unloadModel('m');
        assert.ok(performance.now() - begin < 60_000);
        const said = lines.filter((line) => line.includes('finalizeTimeoutMs'));
        assert.equal(said.length, warns === undefined ? 0 : 1, lines.join('\n'));
        for (const line of said) {
          assert.match(line, /^warn: .*model 'm'/);
          assert.ok(line.includes(` within ${seconds} s (finalizeTimeoutMs)`), line);
          if (warns !== undefined) assert.match(line, warns);
        }
      },
    );
  }
}

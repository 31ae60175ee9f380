/** Processes that do not end, because a thread of their model still runs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { adds, recorded, script, serving, skip } from './harness.js';

const starts = (daemon: boolean): string => `def initialize(self, args):
    threading.Thread(target=time.sleep, args=(3600,), name="mine", daemon=${daemon ? 'True' : 'False'}).start()
${adds}`;
const finalizes = '\ndef finalize(self):\n    print("finalized")';
const models: Readonly<Record<string, { readonly text: string; readonly warns: RegExp | undefined }>> = {
  'a thread and no finalize': { text: starts(false), warns: /thread 'mine'/ },
  'a thread and finalize': { text: starts(false) + finalizes, warns: /thread 'mine'/ },
  'a thread, in two instances': { text: starts(false), warns: /thread 'mine'/ },
  'a daemon': { text: starts(true), warns: undefined },
  'a finalize that stays': {
    text: `${adds}\ndef finalize(self):\n    time.sleep(3600)`,
    warns: /finalize did not end/,
  },
};

for (const [what, { text, warns }] of Object.entries(models)) {
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
          { logger, finalizeTimeoutMs: 300, modelControlMode: 'explicit', loadModels: ['m'] },
        );
        const begin = performance.now();
        if (closes) await server.close();
        else await server.unloadModel('m');
        assert.ok(performance.now() - begin < 60_000);
        const said = lines.filter((line) => line.includes('finalizeTimeoutMs'));
        assert.equal(said.length, warns === undefined ? 0 : 1, lines.join('\n'));
        for (const line of said) {
          assert.match(line, /^warn: .*model 'm'.* within 0\.3 s \(finalizeTimeoutMs\)/);
          if (warns !== undefined) assert.match(line, warns);
        }
      },
    );
  }
}

/** The cost of a process that reads none of its answers is bounded. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { addModel } from '../support/models.js';
import { floats, onnx, rejection, row, serve, until } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { recorded, script, skip, withPython } from './harness.js';

/** A bound for the questions that the system's and the server's buffers hold. */
const mostQuestions = 4000;

/** Long enough for a process to start on a busy machine. */
const timeoutSeconds = 15;

/** Python statements, unindented, that send questions without end and read no answers. */
const flood = (file: string): string => `question = json.dumps({"number": 1, "ask": "resolve",
    "arguments": {"model": "add", "rest": "x" * 1000}}).encode() + b"\\n"
count = 0
while True:
    os.write(4, question)
    count += 1
    with open(${JSON.stringify(file)}, "w") as file:
        file.write(str(count))`;

const indented = (text: string, by: number): string => text.replaceAll(/^/gm, ' '.repeat(by));

const forms = {
  initialize: (text: string) => `def initialize(self, args):\n${indented(text, 4)}
def execute(self, requests):\n    return []`,
  auto_complete_config: (text: string) => `@staticmethod
def auto_complete_config(config):\n${indented(text, 4)}
def execute(self, requests):\n    return []`,
  execute: (text: string) => `def execute(self, requests):\n${indented(text, 4)}`,
  'a thread': (text: string) => `def execute(self, requests):
    def ask():\n${indented(text, 8)}
    threading.Thread(target=ask, daemon=True).start()
    time.sleep(3600)`,
} as const;

for (const [name, form] of Object.entries(forms)) {
  test(
    `a process that asks without reading its answers, in ${name}, waits and is ended`,
    { skip },
    async (t) => {
      const file = join(await temporaryFolder(t), 'count');
      const { logger, lines } = recorded();
      const server = await serve(
        t,
        { asks: script(form(flood(file))), add: onnx(addModel()) },
        withPython({
          logger,
          modelControlMode: 'explicit' as const,
          loadModels: ['add'],
          backendConfig: { python: { 'stub-timeout-seconds': String(timeoutSeconds) } },
        }),
      );
      const failed = rejection(server.loadModel('asks').then(() => server.infer('asks', { x: row() })));
      // A load that fails for another reason says so at once.
      await Promise.race([until(() => lines.some((line) => line.includes('read no answer'))), failed]);
      const { code, message } = await failed;
      assert.equal(code, 'UNAVAILABLE', message);
      assert.match(
        message,
        new RegExp(
          `for ${timeoutSeconds} s \\(stub-timeout-seconds\\), so the server ended it|the process of instance 'asks_0_0' ended`,
        ),
      );
      assert.ok(
        lines.some((line) =>
          line.startsWith(
            `warn: model 'asks': its process asked 16 questions and read no answer for ${timeoutSeconds} s ` +
              '(stub-timeout-seconds), so the server ends it',
          ),
        ),
        lines.join('\n'),
      );
      const count = Number(await readFile(file, 'utf8'));
      assert.ok(count < mostQuestions, `${count} questions`);
      assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
    },
  );
}

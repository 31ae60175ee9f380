// Stands in for Lambda's runtime inside of the root: it loads the handler as `_HANDLER` and `LAMBDA_TASK_ROOT` say, and calls it with each line of the
// standard input, an event. Each answer is a line. The last line is what the process could see and do.
import { access, constants, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The code of the error of a promise, or undefined. */
async function failure(promise) {
  try {
    await promise;
    return undefined;
  } catch (error) {
    return error.code;
  }
}

const { _HANDLER: name, LAMBDA_TASK_ROOT: root } = process.env;
// The working folder of a function.
process.chdir(root);
const [file, method] = name.split('.');
const { [method]: handler } = await import(pathToFileURL(join(root, `${file}.mjs`)).href);
for await (const line of createInterface({ input: process.stdin }))
  console.log(JSON.stringify(await handler(JSON.parse(line))));
console.log(
  JSON.stringify({
    uid: process.getuid(),
    home: process.env.HOME ?? null,
    sharedMemory: await failure(access('/dev/shm')),
    writeCode: await failure(writeFile(join(root, 'new'), '')),
    writeLayer: await failure(writeFile('/opt/new', '')),
    writeRoot: await failure(writeFile('/new', '')),
    writeTemporary: await failure(writeFile('/tmp/new', '')),
    shell: await failure(access('/bin/sh', constants.X_OK)),
    peakMegabytes: Math.round(process.resourceUsage().maxRSS / 1024),
  }),
);

/**
 * Drops servers without closing them. Arguments: a repository, and the reference to keep. Needs --expose-gc.
 */

import { setTimeout as wait } from 'node:timers/promises';
import { attachServer, createServer, type InferenceServer } from '../../../src/index.js';
import { row, threadCount, until } from '../../support/harness.js';

const [repository = '', kept = ''] = process.argv.slice(2);
const count = 5;

const warnings: string[] = [];
process.on('warning', ({ message }) => {
  warnings.push(message.replaceAll(repository, '<repository>'));
});

function collect(): void {
  globalThis.gc?.();
}

/** The warnings about dropped servers that come within some collections. */
async function afterCollections(): Promise<string[]> {
  for (let i = 0; i < 10; i++) {
    collect();
    await wait(20);
  }
  return warnings;
}

function create(): Promise<InferenceServer> {
  return createServer(repository, { modelControlMode: 'explicit', loadModels: ['echo', 'soon'] });
}

async function dropSeveral(): Promise<void> {
  for (let i = 0; i < count; i++) await (await create()).infer('echo', { x: row() });
}

const programs: Record<string, () => Promise<void>> = {
  nothing: async () => {
    // Create everything that a process creates only once.
    await (await create()).close();
    const before = await threadCount();
    await dropSeveral();
    await until(async () => {
      collect();
      return warnings.length === count && (await threadCount()) <= before;
    });
    console.log([...new Set(warnings)].join('\n'));
  },
  polled: async () => {
    const options = { modelControlMode: 'poll', repositoryPollMs: 1 } as const;
    for (let i = 0; i < count; i++) await (await createServer(repository, options)).rescan();
    await until(() => {
      collect();
      return warnings.length === count;
    });
    console.log([...new Set(warnings)].join('\n'));
  },
  model: async () => {
    const model = (await create()).model('echo');
    console.log((await afterCollections()).length);
    await model.infer({ x: row() });
    console.log(model.ready);
  },
  request: async () => {
    const request = (await create()).infer('soon', { x: row() });
    let ended = false;
    const ending = request.then(() => (ended = true));
    await until(() => {
      collect();
      return ended;
    });
    await ending;
    console.log('answered');
    await until(() => {
      collect();
      return warnings.length === 1;
    });
    console.log('told');
  },
  handle: async () => {
    const { handle } = await create();
    console.log((await afterCollections()).length);
    const server = await attachServer(handle);
    await server.infer('echo', { x: row() });
    await server.close();
    console.log('served');
  },
  closed: async () => {
    await (await create()).close();
    console.log((await afterCollections()).length);
  },
  connection: async () => {
    const server = await create();
    await (await attachServer(server.handle)).infer('echo', { x: row() });
    await until(() => {
      collect();
      return warnings.length > 0;
    });
    console.log((await afterCollections()).join('\n'));
    await server.infer('echo', { x: row() });
    await server.close();
  },
};
console.log('ready');
await programs[kept]?.();

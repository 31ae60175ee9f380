import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite, test } from 'node:test';
import {
  createServer,
  type JavaScriptModel,
  type TritonError,
  type LogContext,
  type Logger,
  type ModelContext,
} from '../../src/index.js';
import { chain, ensemble, floats, identity, onnx, rejection, row, serve, until } from '../support/harness.js';
import { temporaryFolder } from '../support/repository.js';
import { adds, byFirst, executing, script } from './harness.js';

/** Answers each request with its id, parameters and batch size. */
const tells = `return requests.map(({ id, parameters, inputs }) =>
  ({ y: inputs.x, said: [[JSON.stringify({ id, parameters: Object.keys(parameters), of: requests.length })]] }));`;
const telling = script(executing(tells), {
  outputs: [{ name: 'y' }, { name: 'said', datatype: 'BYTES', dims: [1] }],
});

interface Said {
  readonly id: string;
  readonly parameters: readonly string[];
  readonly of: number;
}
const saidOf = (outputs: Readonly<Record<string, { strings(): string[] }>>): Said =>
  JSON.parse(outputs['said']?.strings()[0] ?? '') as Said;

void suite('request.id', () => {
  test('is that of each caller, and requests with and without one are batched together', async (t) => {
    const server = await serve(t, { m: telling });
    await server.infer('m', { x: row() });
    const ids = ['', 'a', '', 'b', 'é€😀', 'x'.repeat(4096)];
    const results = await Promise.all(
      ids.map((id, i) =>
        server.infer('m', { x: row(i) }, { id, ...(i === 3 && { parameters: { p: 1 }, priority: 2 }) }),
      ),
    );
    for (const [i, { id, outputs }] of results.entries()) {
      assert.equal(id, ids[i]);
      assert.deepEqual(saidOf(outputs), { id: ids[i], parameters: i === 3 ? ['p'] : [], of: ids.length });
      assert.deepEqual([...(outputs['y']?.as('FP32').data ?? [])], [...row(i)]);
    }
  });

  test('comes through map, stream and ensembles, and no model of another backend is told of it', async (t) => {
    const server = await serve(t, {
      m: telling,
      echo: identity(),
      graph: ensemble(
        [
          { model: 'echo', from: { x: 'x' }, to: { y: 'mid' } },
          { model: 'm', from: { x: 'mid' }, to: { y: 'y', said: 'said' } },
        ],
        { outputs: [{ name: 'y' }, { name: 'said', datatype: 'BYTES', dims: [1] }] },
      ),
    });
    const ids = await Promise.all(
      ['', 'g1', 'g2'].map(
        async (id) => saidOf((await server.infer('graph', { x: row() }, { id })).outputs).id,
      ),
    );
    assert.deepEqual(ids, ['', 'g1', 'g2']);
    for await (const { outputs } of server.model('m').stream({ x: row() }, { id: 's' }))
      assert.equal(saidOf(outputs).id, 's');
    assert.equal((await server.infer('echo', { x: row() }, { id: 'e' })).id, 'e');
  });
});

/** A logger that keeps what it gets. */
function keeping(levels: readonly (keyof Logger)[]): { log: Logger; kept: [string, string, LogContext][] } {
  const kept: [string, string, LogContext][] = [];
  const log = Object.fromEntries(
    levels.map((level) => [
      level,
      (message: string, context: LogContext) => kept.push([level, message, context]),
    ]),
  );
  return { log, kept };
}

const logs = `
  export default class {
    initialize({ logger, config }) {
      this.logger = logger;
      logger.info('begins with ' + config.max_batch_size);
      logger.verbose('nobody reads this');
    }
    execute(requests) {
      const first = requests[0].inputs.x.data[0];
      if (first === 1) this.logger.error('it went wrong', new TypeError('because'));
      if (first === 2) this.logger.warn({ toString() { throw 1; } }, 7);
      if (first === 3) for (let i = 0; i < 5000; i++) this.logger.warn('line ' + i);
      if (first === 4) { this.logger.warn('x'.repeat(100000)); }
      if (first === 5) { this.logger.error('last words'); process.exit(1); }
      ${adds}
    }
    finalize() { this.logger.info('goes'); throw new Error('not well'); }
  }`;

void suite('context.logger', () => {
  test("of a thread writes to the server's logger with the model's name", async (t) => {
    const { log, kept } = keeping(['error', 'warn', 'info']);
    const server = await serve(t, { m: script(logs) }, { logger: log });
    for (const first of [1, 2, 4]) await server.infer('m', { x: row(first) });
    const of = (part: string): [string, string, LogContext] | undefined =>
      kept.find(([, message]) => message.includes(part));
    await until(() => of('xxx') !== undefined);
    assert.deepEqual(of('begins with 64'), ['info', "model 'm': begins with 64", { model: 'm' }]);
    assert.equal(of('nobody'), undefined);
    const [level, message, { model, error }] = of('went wrong') ?? assert.fail('no message');
    assert.deepEqual([level, message, model], ['error', "model 'm': it went wrong", 'm']);
    assert.ok(error instanceof Error && error.message === 'because');
    assert.match(error.stack ?? '', /^TypeError: because\n.*model\.js/s);
    assert.deepEqual(of('an unreadable value'), [
      'warn',
      "model 'm': an unreadable value",
      { model: 'm', error: '7' },
    ]);
    assert.equal(of('xxx')?.[1].length, "model 'm': ".length + 16_384 + 1);
    await server.close();
    assert.deepEqual(of('goes')?.[0], 'info');
    assert.match(of('finalize failed')?.[1] ?? '', /model 'm': finalize failed: model 'm': not well/);
  });

  test('is bounded, says how much was dropped, and goes on', async (t) => {
    const { log, kept } = keeping(['warn']);
    const server = await serve(t, { m: script(logs) }, { logger: log });
    await server.infer('m', { x: row(3) });
    await until(() => kept.some(([, message]) => message.includes('4000 messages of its log were dropped')));
    assert.equal(kept.filter(([, message]) => message.includes(': line ')).length, 1000);
    await server.infer('m', { x: row(2) });
    await until(() => kept.some(([, message]) => message.includes('an unreadable value')));
  });

  test('what a thread says before it dies is read', async (t) => {
    const { log, kept } = keeping(['error']);
    const server = await serve(t, { m: script(logs) }, { logger: log });
    await rejection(server.infer('m', { x: row(5) }));
    assert.deepEqual((await server.infer('m', { x: row(9) })).outputs['y']?.shape, [1, 16]);
    assert.deepEqual(
      kept.map(([, message]) => message),
      ["model 'm': last words"],
    );
  });

  test('of a model of the program writes at once, with the error itself', async (t) => {
    const { log, kept } = keeping(['info', 'warn']);
    const error = new Error('own');
    const server = await createServer({
      models: {
        m: {
          config: {
            input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [1] }],
            output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [1] }],
          },
          initialize: ({ logger }: ModelContext): void => {
            logger.info('here', error);
          },
          execute: (requests) => requests.map(({ inputs }) => ({ y: inputs['x'] })),
          finalize: () => Promise.reject(error),
        },
      },
      logger: log,
    });
    t.after(() => server.close({ timeoutMs: 0 }));
    assert.deepEqual(
      kept.find(([, message]) => message.includes('here')),
      ['info', "model 'm': here", { model: 'm', error }],
    );
    await server.close();
    const [, message, context] = kept.find(([level]) => level === 'warn') ?? [];
    assert.match(message ?? '', /finalize failed: own/);
    assert.equal(context?.error, error);
  });
});

/** The error that a request to model m rejects with, and its cause. */
async function causeOf(asked: Promise<unknown>): Promise<{ error: TritonError; cause: Error }> {
  const error = await rejection(asked);
  const { cause } = error;
  assert.ok(cause instanceof Error, `no cause: ${error.message}`);
  return { error, cause };
}

void suite('what a model throws', () => {
  const ways = byFirst({
    1: 'throw new TypeError("too odd");',
    2: 'return Promise.reject(new RangeError("too far"));',
    3: 'return requests.map(() => new Error("only this"));',
    4: 'throw new Error("a\\0b");',
    5: 'throw new Error("z".repeat(100000));',
    6: 'throw new Error("");',
    7: 'throw "a word";',
    8: 'const error = new Error("no stack"); error.stack = undefined; throw error;',
  });

  for (const where of ['on a thread', 'here']) {
    test(`comes with message and stack ${where}`, async (t) => {
      const model = script(executing(ways));
      const file = join(await temporaryFolder(t), 'model.mjs');
      await writeFile(file, executing(ways));
      const { default: Ways } = (await import(pathToFileURL(file).href)) as {
        default: new () => JavaScriptModel;
      };
      const here = Object.assign(new Ways(), {
        config: {
          max_batch_size: 64,
          input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [16] }],
          output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [16] }],
        },
      } as const);
      const server =
        where === 'here' ? await createServer({ models: { m: here } }) : await serve(t, { m: model });
      t.after(() => server.close({ timeoutMs: 0 }));
      for (const [first, message, stack] of [
        [1, 'too odd', /^TypeError: too odd\n +at /],
        [2, 'too far', /^RangeError: too far\n +at /],
        [3, 'only this', /^Error: only this\n +at /],
        [6, '', /^Error\n +at /],
      ] as const) {
        const { error, cause } = await causeOf(server.infer('m', { x: row(first) }));
        assert.equal(error.message, `model 'm': ${message}`);
        assert.equal(error.code, 'INTERNAL');
        assert.equal(cause.message, message);
        assert.match(cause.stack ?? '', stack);
        assert.match(cause.stack ?? '', /model\.m?js:\d+:\d+/);
      }
      const nul = await causeOf(server.infer('m', { x: row(4) }));
      assert.equal(nul.error.message, "model 'm': a\0b");
      assert.equal(nul.cause.message, 'a\0b');
      const long = await causeOf(server.infer('m', { x: row(5) }));
      assert.equal(long.cause.message, `${'z'.repeat(4096)}…`);
      for (const first of [7, 8])
        assert.equal((await rejection(server.infer('m', { x: row(first) }))).cause, undefined);
      assert.deepEqual(floats(await server.infer('m', { x: row(100) })), [...row(101)]);
    });
  }

  test('comes through an ensemble and a warm-up, too', async (t) => {
    const warm = script(executing(ways), {
      more: 'model_warmup [ { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 16 ] zero_data: true } } } ]',
    });
    const throwing = {
      ...warm,
      versions: {
        '1': {
          'model.js': executing('throw new TypeError("cold");'),
          'package.json': '{ "type": "module" }',
        },
      },
    };
    const server = await serve(
      t,
      { m: script(executing(ways)), add: onnx(), throwing, graph: ensemble(chain(['m', 'add'])) },
      { modelControlMode: 'explicit', loadModels: ['graph'] },
    );
    const { error, cause } = await causeOf(server.infer('graph', { x: row(1) }));
    assert.equal(error.message, "in ensemble 'graph', model 'm': too odd");
    assert.equal(cause.message, 'too odd');
    assert.match(cause.stack ?? '', /^TypeError: too odd\n.*model\.js/s);
    const load = await causeOf(server.loadModel('throwing'));
    assert.match(load.error.message, /model 'throwing'.*cold$/);
    assert.match(load.cause.stack ?? '', /^TypeError: cold\n.*model\.js/s);
  });

  test("has the caller's line with captureStacks, and the model's in the cause", async (t) => {
    const server = await serve(t, { m: script(executing(ways)) }, { captureStacks: true });
    const { error, cause } = await causeOf(
      (async function asksTheModel(): Promise<unknown> {
        return server.infer('m', { x: row(1) });
      })(),
    );
    assert.match(error.stack ?? '', /asksTheModel/);
    assert.match(cause.stack ?? '', /model\.js/);
  });

  test('has the lines of the source, where the thread has source maps', async (t) => {
    // One segment: line 1 of the file is line 41 of where.ts.
    const map = { version: 3, sources: ['where.ts'], names: [], mappings: 'AAwCA' };
    const comment = `//# sourceMappingURL=data:application/json;base64,${Buffer.from(JSON.stringify(map)).toString('base64')}`;
    const server = await serve(
      t,
      { m: script(`${executing('throw new Error("mapped");')}\n${comment}`) },
      { workers: { execArgv: ['--enable-source-maps'] } },
    );
    const { cause } = await causeOf(server.infer('m', { x: row() }));
    assert.match(cause.stack ?? '', /where\.ts:41:/);
  });
});

/** Python models run by Triton's own Python backend, unmodified, and by this package's: with the same answers. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { InferenceServer, InferResult } from '../../src/index.js';
import { batchCountsAfter, floats, identity, rejection, row } from '../support/harness.js';
import { adds, values } from '../python/harness.js';
import { both, pythonModel as model, skip } from './harness.js';

const tensors = (name: string, dims: readonly number[]): { name: string; dims: readonly number[] }[] => [
  { name: `${name}0`, dims },
  { name: `${name}1`, dims },
];

/** The first value of each row. */
const firsts = (results: readonly InferResult[]): number[] =>
  results.map((result) => floats(result)[0] ?? Number.NaN);

test('two inputs are added and subtracted, and only the wanted output is given', { skip }, async (t) => {
  const text = `def initialize(self, args):
    config = json.loads(args["model_config"])
    types = [pb_utils.get_output_config_by_name(config, name)["data_type"] for name in ("OUTPUT0", "OUTPUT1")]
    self.types = [pb_utils.triton_string_to_numpy(one) for one in types]
def execute(self, requests):
    responses = []
    for request in requests:
        a, b = array(request, "INPUT0"), array(request, "INPUT1")
        given = {"OUTPUT0": (a + b).astype(self.types[0]), "OUTPUT1": (a - b).astype(self.types[1])}
        responses.append(pb_utils.InferenceResponse(
            [pb_utils.Tensor(name, given[name]) for name in request.requested_output_names()]))
    return responses`;
  const options = { inputs: tensors('INPUT', [4]), outputs: tensors('OUTPUT', [4]) };
  await both(
    t,
    (who) => ({ add_sub: model(who, text, options) }),
    async (server) => {
      const inputs = { INPUT0: new Float32Array([1, 2, 3, 4]), INPUT1: new Float32Array([4, 3, 2, 1]) };
      const { outputs } = await server.infer('add_sub', inputs);
      assert.deepEqual(outputs['OUTPUT0']?.toArray(), [[5, 5, 5, 5]]);
      assert.deepEqual(outputs['OUTPUT1']?.toArray(), [[-3, -1, 1, 3]]);
      const only = await server.infer('add_sub', inputs, { outputs: ['OUTPUT1'] });
      assert.deepEqual(Object.keys(only.outputs), ['OUTPUT1']);
    },
  );
});

test('requests that arrive together run together, each with its own rows', { skip }, async (t) => {
  await both(
    t,
    (who) => ({ add: model(who, adds) }),
    async (server) => {
      await server.infer('add', { x: row() });
      const results = await Promise.all(
        Array.from({ length: 64 }, (_, i) => server.infer('add', { x: row(i) })),
      );
      results.forEach((result, i) => {
        assert.deepEqual(floats(result), [...row(i + 1)]);
      });
      assert.deepEqual(await batchCountsAfter(server, 'add', 65), { 1: 1, 64: 1 });
    },
  );
});

test('requests of different rows and shapes get their own', { skip }, async (t) => {
  const dims = [-1, 2];
  const shapes = [
    [1, 1, 2],
    [3, 1, 2],
    [2, 5, 2],
    [4, 1, 2],
  ];
  await both(
    t,
    (who) => ({ add: model(who, adds, { inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }) }),
    async (server) => {
      const results = await Promise.all(
        shapes.map((shape, k) => {
          const data = new Float32Array(shape.reduce((a, b) => a * b)).fill(k);
          return server.infer('add', { x: { data, shape } });
        }),
      );
      results.forEach(({ outputs }, k) => {
        const y = outputs['y']?.as('FP32');
        assert.deepEqual(y?.shape, shapes[k]);
        assert.ok(y?.data.every((value) => value === k + 1));
      });
    },
  );
});

test('numbers and strings of all datatypes come to numpy and back', { skip }, async (t) => {
  const echo = `def execute(self, requests):
    return [answer(array(request).copy()) for request in requests]`;
  const passes = `def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("y", tensor(request))]) for request in requests]`;
  // One model a size of its elements, with an output for each datatype, would do, too; but a failure would name nothing.
  const kinds = Object.keys(values) as (keyof typeof values)[];
  for (const some of [kinds.slice(0, 7), kinds.slice(7)]) {
    await both(
      t,
      (who) => ({
        ...Object.fromEntries(
          some.map((datatype) => [
            datatype.toLowerCase(),
            model(who, echo, {
              inputs: [{ name: 'x', datatype, dims: [-1] }],
              outputs: [{ name: 'y', datatype, dims: [-1] }],
            }),
          ]),
        ),
        bf16: model(who, passes, {
          inputs: [{ name: 'x', datatype: 'BF16', dims: [-1] }],
          outputs: [{ name: 'y', datatype: 'BF16', dims: [-1] }],
        }),
      }),
      async (server) => {
        for (const datatype of some) {
          const list = values[datatype];
          const { outputs } = await server.infer(datatype.toLowerCase(), { x: [list] as never });
          const given = outputs['y']?.toArray() as unknown[][];
          const shown = datatype === 'BYTES' ? [outputs['y']?.strings()] : given;
          assert.deepEqual(shown, [list], datatype);
        }
        const { outputs } = await server.infer('bf16', { x: [[1.5, -2, 0]] });
        assert.deepEqual(outputs['y']?.toArray(), [[1.5, -2, 0]]);
      },
    );
  }
});

test('a model says itself what its configuration leaves out', { skip }, async (t) => {
  const text = `@staticmethod
def auto_complete_config(config):
    config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [16]})
    config.add_output({"name": "y", "data_type": "TYPE_FP32", "dims": [16]})
    config.set_max_batch_size(8)
    config.set_dynamic_batching()
    return config
${adds}`;
  await both(
    t,
    (who) => ({
      add: {
        ...model(who, text),
        config: `backend: "python"\n${who === 'plugin' ? 'parameters { key: "plugin" value { string_value: "true" } }' : ''}`,
      },
    }),
    async (server) => {
      const { config } = server.model('add');
      assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
      return [
        config.max_batch_size,
        config.input.map(({ name, dims, data_type }) => [name, dims, data_type]),
        config.output.map(({ name, dims, data_type }) => [name, dims, data_type]),
        config.dynamic_batching !== undefined,
      ];
    },
  );
});

test('a configuration that a model denies is refused', { skip }, async (t) => {
  const text = `@staticmethod
def auto_complete_config(config):
    config.add_input({"name": "x", "data_type": "TYPE_INT32", "dims": [16]})
    return config
${adds}`;
  await both(
    t,
    (who) => ({ add: model(who, text), same: identity() }),
    (server) => Promise.resolve(server.index().map(({ name, state }) => [name, state])),
    { exitOnError: false },
  );
});

test('a model learns what it is, and its configuration', { skip }, async (t) => {
  const text = `def initialize(self, args):
    config = json.loads(args["model_config"])
    self.told = {key: args[key] for key in ("model_name", "model_version", "model_instance_kind",
        "model_instance_device_id", "model_instance_name")}
    self.told["repository"] = os.path.exists(os.path.join(args["model_repository"], "1", "model.py"))
    self.told["config"] = [config["max_batch_size"], config["input"][0]["dims"], config["parameters"]["colour"]]
def execute(self, requests):
    import numpy
    return [answer(numpy.array([[json.dumps(self.told).encode()]], dtype=object)) for _ in requests]`;
  const options = {
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
    parameters: { colour: 'red' },
  } as const;
  await both(
    t,
    (who) => ({ told: model(who, text, options) }),
    async (server) => {
      const { outputs } = await server.infer('told', { x: row() });
      const told = JSON.parse(outputs['y']?.strings()[0] ?? '') as Record<string, unknown>;
      assert.equal(told['model_name'], 'told');
      assert.equal(told['repository'], true);
      return told;
    },
  );
});

test('requests tell their id, parameters, timeout, flags and wanted outputs', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    told = [[r.request_id(), json.loads(r.parameters()), r.timeout(), sorted(r.requested_output_names()), r.flags(),
             r.correlation_id()] for r in requests]
    return [answer(numpy.array([[json.dumps(one).encode()]], dtype=object)) for one in told]`;
  await both(
    t,
    (who) => ({ told: model(who, text, { outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }] }) }),
    async (server) => {
      const { outputs } = await server.infer(
        'told',
        { x: row() },
        { id: 'ü1', timeoutUs: 5_000_000, parameters: { a: 'b', n: 3, f: true } },
      );
      const told = JSON.parse(outputs['y']?.strings()[0] ?? '') as unknown[];
      assert.deepEqual(told, ['ü1', { a: 'b', n: 3, f: true }, 5_000_000, ['y'], 0, 0]);
    },
  );
});

test('sequences come with their ids and flags', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    told = [[r.correlation_id(), r.flags(), float(array(r, "START")[0, 0])] for r in requests]
    return [answer(numpy.array([[json.dumps(one).encode()]], dtype=object)) for one in told]`;
  const options = {
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
    batching: false,
    more: `sequence_batching { direct { } control_input [
      { name: "START" control [ { kind: CONTROL_SEQUENCE_START fp32_false_true: [ 0, 1 ] } ] } ] }`,
  } as const;
  await both(
    t,
    (who) => ({ told: model(who, text, options) }),
    async (server) => {
      const told: unknown[] = [];
      for (const id of [7n, 'name'] as const) {
        for (const flags of [{ start: true }, {}, { end: true }]) {
          const { outputs } = await server.infer('told', { x: row() }, { sequence: { id, ...flags } });
          told.push(JSON.parse(outputs['y']?.strings()[0] ?? ''));
        }
      }
      assert.deepEqual(told, [
        [7, 1, 1],
        [7, 0, 0],
        [7, 2, 0],
        ['name', 1, 1],
        ['name', 0, 0],
        ['name', 2, 0],
      ]);
    },
  );
});

test('a slot whose sequence has no request comes as a request of zeros', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    told = [[float(array(r, "READY")[0, 0]), float(array(r)[0, 0]), len(r.requested_output_names())] for r in requests]
    return [answer(numpy.array([[json.dumps(told).encode()]], dtype=object)) for _ in requests]`;
  const options = {
    outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
    batching: false,
    more: `sequence_batching { direct { } control_input [
      { name: "READY" control [ { kind: CONTROL_SEQUENCE_READY fp32_false_true: [ 0, 1 ] } ] } ] }`,
  } as const;
  await both(
    t,
    (who) => ({ told: model(who, text, options) }),
    async (server) => {
      const told = async (id: bigint, first: number, flags = {}): Promise<unknown> => {
        const { outputs } = await server.infer('told', { x: row(first) }, { sequence: { id, ...flags } });
        return JSON.parse(outputs['y']?.strings()[0] ?? '');
      };
      assert.deepEqual(await told(1n, 5, { start: true }), [[1, 5, 1]]);
      // Slot 0 is that of the first sequence, which goes on.
      const alone = [
        [0, 0, 0],
        [1, 6, 1],
      ];
      assert.deepEqual(await told(2n, 6, { start: true }), alone);
      assert.deepEqual(await told(2n, 6, { end: true }), alone);
      assert.deepEqual(await told(1n, 7, { end: true }), [[1, 7, 1]]);
    },
  );
});

const decoupled = { more: 'model_transaction_policy { decoupled: true }' };
const final = 'pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL';

async function streamed(server: InferenceServer, name: string, first: number): Promise<number[]> {
  const all = [];
  for await (const result of server.model(name).stream({ x: row(first) })) all.push(result);
  return firsts(all);
}

test('a decoupled model sends as many responses as it wants, also from threads', { skip }, async (t) => {
  const inside = `def execute(self, requests):
    for request in requests:
        self.respond(request.get_response_sender(), array(request).copy())
def respond(self, sender, value):
    for k in range(int(value[0, 0])):
        sender.send(answer(value * 0 + k))
    sender.send(flags=${final})`;
  const threads = inside.replace(
    'self.respond(request.get_response_sender(), array(request).copy())',
    'threading.Thread(target=self.respond, args=(request.get_response_sender(), array(request).copy())).start()',
  );
  await both(
    t,
    (who) => ({ inside: model(who, inside, decoupled), threads: model(who, threads, decoupled) }),
    async (server) => {
      for (const name of ['inside', 'threads']) {
        const seen = await Promise.all([0, 1, 3, 30].map((count) => streamed(server, name, count)));
        assert.deepEqual(
          seen,
          [0, 1, 3, 30].map((count) => Array.from({ length: count }, (_, k) => k)),
          name,
        );
      }
    },
  );
});

test('what is raised in execute fails the batch, and the next one runs', { skip }, async (t) => {
  const text = `def execute(self, requests):
    first = array(requests[0])[0, 0]
    if first == 1:
        return 1 / 0
    if first == 2:
        raise pb_utils.TritonModelException("refused")
    if first == 3:
        error = pb_utils.TritonError("not mine", pb_utils.TritonError.INVALID_ARG)
        return [pb_utils.InferenceResponse(error=error)]
    if first == 4:
        return []
    return [answer(array(request) + 1) for request in requests]`;
  const texts: Readonly<Record<number, RegExp>> = {
    1: /division by zero/,
    2: /refused/,
    3: /not mine/,
    4: /list of 1 responses|number of InferenceResponse objects do not match/i,
  };
  await both(
    t,
    (who) => ({ bad: model(who, text, { maxBatchSize: 1 }) }),
    async (server) => {
      const codes: string[] = [];
      for (const [first, expected] of Object.entries(texts)) {
        const error = await rejection(server.infer('bad', { x: row(Number(first)) }));
        assert.match(error.message, expected);
        codes.push(error.code);
        assert.deepEqual(floats(await server.infer('bad', { x: row(20) })), [...row(21)]);
      }
      return codes;
    },
  );
});

test('what is raised in initialize fails the load, and other models are served', { skip }, async (t) => {
  const text = `def initialize(self, args):
    raise pb_utils.TritonModelException("not today")
${adds}`;
  await both(
    t,
    (who) => ({ bad: model(who, text), add: model(who, adds) }),
    async (server) => {
      const [, bad] = server.index();
      assert.equal(bad?.state, 'UNAVAILABLE');
      assert.match(bad.reason ?? '', /not today/);
      assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
    },
    { exitOnError: false },
  );
});

/** Asks another model, which the parameter `calls` names, and adds 10. */
const calls = `def initialize(self, args):
    self.called = json.loads(args["model_config"])["parameters"]["calls"]["string_value"]
def execute(self, requests):
    responses = []
    for request in requests:
        call = pb_utils.InferenceRequest(
            model_name=self.called, requested_output_names=["y"],
            inputs=[pb_utils.Tensor("x", array(request))], request_id="asked")
        response = call.exec()
        if response.has_error():
            responses.append(pb_utils.InferenceResponse(error=response.error()))
        else:
            responses.append(answer(pb_utils.get_output_tensor_by_name(response, "y").as_numpy() + 10))
    return responses`;

test('a model asks others, and itself reads their errors', { skip }, async (t) => {
  await both(
    t,
    (who) => ({
      add: model(who, adds),
      same: identity(),
      broken: model(who, 'def execute(self, requests):\n    raise ValueError("no")'),
      ...Object.fromEntries(
        ['add', 'same', 'broken', 'absent'].map((name) => [
          `to_${name}`,
          model(who, calls, { parameters: { calls: name } }),
        ]),
      ),
    }),
    async (server) => {
      for (let k = 0; k < 5; k++) {
        assert.deepEqual(floats(await server.infer('to_add', { x: row(k) })), [...row(k + 11)]);
        assert.deepEqual(floats(await server.infer('to_same', { x: row(k) })), [...row(k + 10)]);
      }
      const broken = await rejection(server.infer('to_broken', { x: row() }));
      assert.match(broken.message, /no/);
      const absent = await rejection(server.infer('to_absent', { x: row() }));
      assert.match(absent.message, /absent/);
      return broken.code;
    },
  );
});

test('calls are awaited together', { skip }, async (t) => {
  const text = `async def execute(self, requests):
    import asyncio
    responses = []
    for request in requests:
        calls = [
            pb_utils.InferenceRequest(
                model_name="add", requested_output_names=["y"], inputs=[pb_utils.Tensor("x", array(request) + k)]
            ).async_exec()
            for k in range(3)
        ]
        given = [pb_utils.get_output_tensor_by_name(one, "y").as_numpy() for one in await asyncio.gather(*calls)]
        responses.append(answer(sum(given)))
    return responses`;
  await both(
    t,
    (who) => ({ add: model(who, adds), three: model(who, text) }),
    async (server) => {
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, k) => server.infer('three', { x: row(k) })),
      );
      results.forEach((result, k) => {
        assert.deepEqual(
          floats(result),
          [...row(k)].map((value) => 3 * value + 6),
        );
      });
    },
  );
});

test('a model reads the responses of a decoupled one', { skip }, async (t) => {
  const repeats = `def execute(self, requests):
    for request in requests:
        sender = request.get_response_sender()
        for k in range(int(array(request)[0, 0])):
            sender.send(answer(array(request) + k))
        sender.send(flags=${final})`;
  const sums = `def execute(self, requests):
    responses = []
    for request in requests:
        total = array(request) * 0
        call = pb_utils.InferenceRequest(
            model_name="repeat", requested_output_names=["y"], inputs=[pb_utils.Tensor("x", array(request))])
        for response in call.exec(decoupled=True):
            if len(response.output_tensors()) > 0:
                total = total + pb_utils.get_output_tensor_by_name(response, "y").as_numpy()
        responses.append(answer(total))
    return responses`;
  await both(
    t,
    (who) => ({ repeat: model(who, repeats, decoupled), sum: model(who, sums) }),
    async (server) => {
      const sum = async (n: number): Promise<number | undefined> =>
        floats(await server.infer('sum', { x: row(n) }))[0];
      assert.equal(await sum(3), 3 + 4 + 5);
      assert.equal(await sum(1), 1);
      assert.equal(await sum(0), 0);
      assert.equal(await sum(40), 40 * 40 + (39 * 40) / 2);
    },
  );
});

test('metrics of a model are among those of the server', { skip }, async (t) => {
  const text = `def initialize(self, args):
    self.family = pb_utils.MetricFamily(name="rows_seen", description="Rows", kind=pb_utils.MetricFamily.COUNTER)
    self.rows = self.family.Metric(labels={"model": "add"})
    self.gauges = pb_utils.MetricFamily(name="level", description="Level", kind=pb_utils.MetricFamily.GAUGE)
    self.level = self.gauges.Metric(labels={"model": "add"})
    self.histograms = pb_utils.MetricFamily(name="times", description="Times", kind=pb_utils.MetricFamily.HISTOGRAM)
    self.times = self.histograms.Metric(labels={"model": "add"}, buckets=[0.1, 1.0])
def execute(self, requests):
    self.rows.increment(len(requests))
    self.level.set(self.rows.value() * 2)
    self.times.observe(0.5)
    return [answer(array(request) + 1) for request in requests]
def finalize(self):
    # Triton's process crashes by metrics that live longer (docs/plugins.md).
    self.__dict__.clear()`;
  await both(
    t,
    (who) => ({ add: model(who, text) }),
    async (server) => {
      await server.infer('add', { x: row() });
      await server.infer('add', { x: row() });
      const shown = server.metrics();
      assert.match(shown, /^rows_seen\{model="add"\} 2$/m);
      assert.match(shown, /^level\{model="add"\} 4$/m);
      assert.match(shown, /^times_bucket\{model="add",le="1"\} 2$|^times_bucket\{le="1",model="add"\} 2$/m);
    },
  );
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Datatype } from '../../src/index.js';
import { batchCountsAfter, floats, identity, rejection, row, until } from '../support/harness.js';
import { adds, file, recorded, script, serving, skip, values } from './harness.js';

test('a model.py of two inputs and two outputs adds and subtracts', { skip }, async (t) => {
  const text = `
import json
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        types = [pb_utils.get_output_config_by_name(config, name)["data_type"] for name in ("OUTPUT0", "OUTPUT1")]
        self.types = [pb_utils.triton_string_to_numpy(one) for one in types]

    def execute(self, requests):
        responses = []
        for request in requests:
            a = pb_utils.get_input_tensor_by_name(request, "INPUT0").as_numpy()
            b = pb_utils.get_input_tensor_by_name(request, "INPUT1").as_numpy()
            first = pb_utils.Tensor("OUTPUT0", (a + b).astype(self.types[0]))
            second = pb_utils.Tensor("OUTPUT1", (a - b).astype(self.types[1]))
            responses.append(pb_utils.InferenceResponse(output_tensors=[first, second]))
        return responses
`;
  const tensors = (name: string): { name: string; dims: number[] }[] => [
    { name: `${name}0`, dims: [4] },
    { name: `${name}1`, dims: [4] },
  ];
  const server = await serving(t, {
    add_sub: file(text, { inputs: tensors('INPUT'), outputs: tensors('OUTPUT') }),
  });
  const inputs = { INPUT0: new Float32Array([1, 2, 3, 4]), INPUT1: new Float32Array([4, 3, 2, 1]) };
  const { outputs } = await server.infer('add_sub', inputs);
  assert.deepEqual(outputs['OUTPUT0']?.toArray(), [[5, 5, 5, 5]]);
  assert.deepEqual(outputs['OUTPUT1']?.toArray(), [[-3, -1, 1, 3]]);
  const only = await server.infer('add_sub', inputs, { outputs: ['OUTPUT1'] });
  assert.deepEqual(Object.keys(only.outputs), ['OUTPUT1']);
});

test(
  'requests that arrive together come to execute together, and each gets its own rows',
  { skip },
  async (t) => {
    const server = await serving(t, { add: script(adds) });
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

test('requests of different rows and shapes get their own', { skip }, async (t) => {
  const dims = [-1, 2];
  const server = await serving(t, {
    add: script(adds, { inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] }),
  });
  const shapes = [
    [1, 1, 2],
    [3, 1, 2],
    [2, 5, 2],
    [1, 0, 2],
    [4, 1, 2],
  ];
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
});

test('a model learns what it is, and its configuration', { skip }, async (t) => {
  const text = `def initialize(self, args):
    self.args = dict(args, config=json.loads(args["model_config"]), folder=pb_utils.get_model_dir())
def execute(self, requests):
    import numpy
    return [answer(numpy.array([[json.dumps(self.args).encode()]], dtype=object)) for _ in requests]`;
  const server = await serving(t, {
    told: script(text, {
      outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }],
      parameters: { colour: 'red' },
    }),
  });
  const { outputs } = await server.infer('told', { x: row() });
  const args = JSON.parse(outputs['y']?.strings()[0] ?? '') as Record<string, unknown>;
  assert.equal(args['model_name'], 'told');
  assert.equal(args['model_version'], '1');
  assert.equal(args['model_instance_kind'], 'CPU');
  assert.match(String(args['model_instance_name']), /^told/);
  assert.equal(args['folder'], join(String(args['model_repository']), '1'));
  const config = args['config'] as {
    max_batch_size: number;
    parameters: Record<string, { string_value: string }>;
  };
  assert.equal(config.max_batch_size, 64);
  assert.equal(config.parameters['colour']?.string_value, 'red');
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
  const model = script(text);
  const server = await serving(t, { add: { ...model, config: 'backend: "python"' } });
  const { config } = server.model('add');
  assert.equal(config.max_batch_size, 8);
  assert.deepEqual(
    config.input.map(({ name, dims }) => [name, dims]),
    [['x', [16]]],
  );
  assert.ok(config.dynamic_batching);
  assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
});

test('a model cannot say what its configuration denies', { skip }, async (t) => {
  const text = `@staticmethod
def auto_complete_config(config):
    config.add_input({"name": "x", "data_type": "TYPE_INT32", "dims": [16]})
    return config
${adds}`;
  const error = await rejection(serving(t, { add: script(text) }));
  assert.match(error.message, /data_type is configured as TYPE_FP32/);
});

test('the backend and the file are found without a configuration of both', { skip }, async (t) => {
  const { config = '', versions } = script(adds);
  const server = await serving(t, {
    add: { config: config.replace('backend: "python"', ''), versions: versions ?? {} },
  });
  assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
});

test('modules of the version folder are imported', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import helper
    return [answer(helper.more(array(request))) for request in requests]`;
  const server = await serving(t, {
    add: script(text, {}, { 'helper.py': 'def more(x):\n    return x + 2\n' }),
  });
  assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(2)]);
});

test('numbers and strings of all datatypes come to numpy and back', { skip }, async (t) => {
  const echo = `def execute(self, requests):
    return [answer(array(request).copy()) for request in requests]`;
  const passes = `def execute(self, requests):
    return [pb_utils.InferenceResponse([pb_utils.Tensor.from_dlpack("y", tensor(request))]) for request in requests]`;
  const models = Object.fromEntries(
    Object.keys(values).map((name) => {
      const datatype = name as Datatype;
      const inputs = [{ name: 'x', datatype, dims: [-1] }];
      return [name.toLowerCase(), script(echo, { inputs, outputs: [{ name: 'y', datatype, dims: [-1] }] })];
    }),
  );
  const bf16 = { datatype: 'BF16', dims: [-1] } as const;
  const server = await serving(t, {
    ...models,
    bf16: script(passes, { inputs: [{ name: 'x', ...bf16 }], outputs: [{ name: 'y', ...bf16 }] }),
  });
  for (const [datatype, list] of Object.entries(values)) {
    const { outputs } = await server.infer(datatype.toLowerCase(), { x: [list] as never });
    const given = outputs['y']?.toArray() as unknown[][];
    const shown = datatype === 'BYTES' ? [outputs['y']?.strings()] : given;
    assert.deepEqual(shown, [list], datatype);
  }
  const { outputs } = await server.infer('bf16', { x: [[1.5, -2, 0]] });
  assert.deepEqual(outputs['y']?.toArray(), [[1.5, -2, 0]]);
});

test('arrays in any order and of odd kinds are written as they read', { skip }, async (t) => {
  const dims = [2, 3];
  const forms = {
    fortran: 'numpy.asfortranarray(array(request)[0]).reshape(1, 2, 3)',
    transposed: 'numpy.arange(6, dtype="float32").reshape(3, 2).T[None]',
    strided: 'numpy.arange(24, dtype="float32").reshape(1, 4, 6)[:, ::2, ::2]',
    reversed: 'numpy.arange(6, dtype="float32").reshape(1, 2, 3)[:, ::-1, ::-1]',
    swapped: 'numpy.arange(6, dtype=">f4").reshape(1, 2, 3)',
    broadcast: 'numpy.broadcast_to(numpy.float32(7), (1, 2, 3))',
  };
  const expected: Record<keyof typeof forms, number[][]> = {
    fortran: [
      [1, 2, 3],
      [4, 5, 6],
    ],
    transposed: [
      [0, 2, 4],
      [1, 3, 5],
    ],
    strided: [
      [0, 2, 4],
      [12, 14, 16],
    ],
    reversed: [
      [5, 4, 3],
      [2, 1, 0],
    ],
    swapped: [
      [0, 1, 2],
      [3, 4, 5],
    ],
    broadcast: [
      [7, 7, 7],
      [7, 7, 7],
    ],
  };
  const tensors = { inputs: [{ name: 'x', dims }], outputs: [{ name: 'y', dims }] };
  const server = await serving(
    t,
    Object.fromEntries(
      Object.entries(forms).map(([name, form]) => [
        name,
        script(
          `def execute(self, requests):
    import numpy
    return [answer(${form}) for request in requests]`,
          tensors,
        ),
      ]),
    ),
  );
  for (const name of Object.keys(forms) as (keyof typeof forms)[]) {
    const { outputs } = await server.infer(name, {
      x: [
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
      ],
    });
    assert.deepEqual(outputs['y']?.toArray(), [expected[name]], name);
  }
});

test('a tensor of 100 MB goes there and back', { skip }, async (t) => {
  const options = {
    maxBatchSize: 0,
    batching: false,
    inputs: [{ name: 'x', dims: [-1] }],
    outputs: [{ name: 'y', dims: [-1] }],
  } as const;
  const server = await serving(t, { add: script(adds, options) });
  const data = new Float32Array(26_214_400);
  for (let i = 0; i < data.length; i += 4097) data[i] = i;
  for (let k = 0; k < 2; k++) {
    const { outputs } = await server.infer('add', { x: data });
    const sum = outputs['y']?.as('FP32').data ?? new Float32Array();
    assert.equal(sum.length, data.length);
    for (let i = 0; i < data.length; i += 4097) assert.equal(sum[i], Math.fround(Math.fround(i) + 1));
  }
});

test('an input that is kept beyond its batch harms nobody', { skip }, async (t) => {
  const text = `kept = []
def execute(self, requests):
    self.kept += [tensor(request) for request in requests]
    responses = []
    for request in requests:
        old = self.kept[0]
        given = pb_utils.Tensor.from_dlpack("y", old) if array(request)[0, 0] == 1 else tensor(request)
        response = pb_utils.InferenceRequest("same", ["y"], [old]).exec()
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        old._name = "x"
        responses.append(answer(array(request) + 1) if array(request)[0, 0] < 2 else pb_utils.InferenceResponse([given]))
        responses[-1].output_tensors()[0]._name = "y"
    return responses`;
  const server = await serving(t, { keeps: script(text), same: identity() });
  for (let k = 0; k < 20; k++) await server.infer('keeps', { x: row(k) });
  assert.deepEqual(floats(await server.infer('keeps', { x: row() })), [...row(1)]);
  // Neither process was restarted.
  assert.deepEqual(
    server.index().map(({ reason }) => reason ?? ''),
    ['', ''],
  );
});

test('what execute raises fails its batch with the traceback, and the next one runs', { skip }, async (t) => {
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
    if first == 5:
        return [None]
    if first == 6:
        return [answer(array(requests[0]), "z")]
    if first == 7:
        return [answer(array(requests[0]).astype("int32"))]
    if first == 8:
        return [pb_utils.InferenceResponse([])]
    return [answer(array(request) + 1) for request in requests]`;
  const server = await serving(t, { bad: script(text) });
  const fails = async (first: number): Promise<readonly [string, string, string]> => {
    const error = await rejection(server.infer('bad', { x: row(first) }));
    const { cause } = error;
    return [error.code, error.message, cause instanceof Error ? String(cause.stack) : ''];
  };
  const [code, message, trace] = await fails(1);
  assert.equal(code, 'INTERNAL');
  assert.match(message, /model 'bad': ZeroDivisionError: division by zero/);
  assert.match(trace, /model\.py", line \d+, in execute/);
  assert.match((await fails(2))[1], /refused/);
  assert.deepEqual((await fails(3)).slice(0, 2), ['INVALID_ARG', "model 'bad': not mine"]);
  assert.match((await fails(4))[1], /list of 1 responses/);
  assert.match((await fails(5))[1], /result 0 is a NoneType/);
  assert.match((await fails(6))[1], /unknown output 'z'.*has y/);
  assert.match((await fails(7))[1], /expected FP32.*INT32/);
  assert.deepEqual(floats(await server.infer('bad', { x: row(20) })), [...row(21)]);
});

test('requests tell their id, parameters, timeout and wanted outputs', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    told = [[r.request_id(), json.loads(r.parameters()), r.timeout(), r.requested_output_names(), r.flags(),
             r.correlation_id(), r.is_cancelled(), r.trace().get_context()] for r in requests]
    return [answer(numpy.array([[json.dumps(one)]], dtype=object)) for one in told]`;
  const server = await serving(t, {
    told: script(text, { outputs: [{ name: 'y', datatype: 'BYTES', dims: [1] }] }),
  });
  const { outputs } = await server.infer(
    'told',
    { x: row() },
    { id: 'ü1', timeoutUs: 5_000_000, parameters: { a: 'b', n: 3, r: 0.5, f: true } },
  );
  assert.deepEqual(JSON.parse(outputs['y']?.strings()[0] ?? ''), [
    'ü1',
    { a: 'b', n: 3, r: 0.5, f: true },
    5_000_000,
    ['y'],
    0,
    0,
    false,
    null,
  ]);
});

test('what is not served is refused by name', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    said = []
    for attempt in (
        lambda: requests[0].set_release_flags(pb_utils.TRITONSERVER_REQUEST_RELEASE_RESCHEDULE),
        lambda: pb_utils.InferenceRequest("m", ["y"], [], correlation_id="é" * 65),
        lambda: pb_utils.InferenceRequest("m", ["y"], [], preferred_memory=pb_utils.PreferredMemory(2)),
    ):
        try:
            attempt()
            said.append("accepted")
        except pb_utils.TritonModelException as error:
            said.append(error.code + " " + str(error))
    return [answer(numpy.array([said], dtype=object)) for _ in requests]`;
  const server = await serving(t, {
    told: script(text, { outputs: [{ name: 'y', datatype: 'BYTES', dims: [3] }] }),
  });
  const said = (await server.infer('told', { x: row() })).outputs['y']?.strings() ?? [];
  assert.deepEqual(
    said.map((one) => one.split(' ')[0]),
    Array.from({ length: 3 }, () => 'UNSUPPORTED'),
    said.join('\n'),
  );
});

test('what a model prints and logs goes to the logger with its name', { skip }, async (t) => {
  const text = `def initialize(self, args):
    print("hello")
    print("oh", file=sys.stderr)
    pb_utils.Logger.log_error("an error")
    pb_utils.Logger.log_warn("a warning")
    pb_utils.Logger.log_info("an info")
    pb_utils.Logger.log("plain")
    pb_utils.Logger.log_verbose("details")
${adds}`;
  const { logger, lines } = recorded();
  const server = await serving(t, { add: script(text) }, { logger });
  await server.infer('add', { x: row() });
  await server.close();
  // What a process prints is read by itself, also after its end.
  for (const printed of [/^info: model 'add': add\S*: hello/, /^warn: model 'add': add\S*: oh/])
    await until(() => lines.some((line) => printed.test(line)));
  const shown = lines.join('\n');
  for (const line of [
    'error: an error',
    'warn: a warning',
    'info: an info',
    'info: plain',
    'verbose: details',
  ]) {
    const [level = '', rest = ''] = line.split(': ');
    assert.ok(lines.includes(`${level}: model 'add': ${rest}`), `${line} in\n${shown}`);
  }
});

test('metrics of a model are among those of the server', { skip }, async (t) => {
  const text = `def initialize(self, args):
    self.family = pb_utils.MetricFamily(name="rows_seen", description="Rows", kind=pb_utils.MetricFamily.COUNTER)
    self.rows = self.family.Metric(labels={"model": "add"})
    gauge = pb_utils.MetricFamily(name="level", description="Level", kind=pb_utils.MetricFamily.GAUGE)
    self.level = gauge.Metric(labels={})
    times = pb_utils.MetricFamily(name="times", description="Times", kind=pb_utils.MetricFamily.HISTOGRAM)
    self.times = times.Metric(labels={}, buckets=[0.1, 1.0])
def execute(self, requests):
    self.rows.increment(len(requests))
    self.level.set(self.rows.value() * 2)
    self.times.observe(0.5)
    return [answer(array(request) + 1) for request in requests]`;
  const server = await serving(t, { add: script(text) });
  await server.infer('add', { x: row() });
  await server.infer('add', { x: row() });
  const shown = server.metrics();
  assert.match(shown, /^rows_seen\{model="add"\} 2$/m);
  assert.match(shown, /^level 4$/m);
  assert.match(shown, /^times_bucket\{le="1"\} 2$/m);
});

test(
  'a metric that is asked for with every request is the same one in the process and in the server',
  { skip },
  async (t) => {
    const text = `def initialize(self, args):
    self.numbers = set()
def execute(self, requests):
    import numpy
    family = pb_utils.MetricFamily(name="asked", description="Asked", kind=pb_utils.MetricFamily.COUNTER)
    for model in ("a", "b"):
        metric = family.Metric(labels={"model": model})
        metric.increment(1)
        self.numbers.add(metric._number)
    return [answer(numpy.full((1, 16), len(self.numbers), dtype="float32")) for _ in requests]`;
    const server = await serving(t, { add: script(text) });
    for (let k = 0; k < 3; k++) assert.equal(floats(await server.infer('add', { x: row() }))[0], 2);
    assert.match(server.metrics(), /^asked\{model="b"\} 3$/m);
  },
);

test('DLPack goes there and back, without a copy', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    responses = []
    for request in requests:
        given = tensor(request)
        assert given.is_cpu() and given.triton_dtype() == "TYPE_FP32" and given.shape() == [1, 16]
        assert given.__dlpack_device__() == (1, 0)
        view = numpy.from_dlpack(given)
        assert numpy.shares_memory(view, given.as_numpy())
        back = pb_utils.Tensor.from_dlpack("y", (view + 1).__dlpack__())
        responses.append(pb_utils.InferenceResponse([back]))
    return responses`;
  const server = await serving(t, { add: script(text) });
  for (let k = 0; k < 50; k++)
    assert.deepEqual(floats(await server.infer('add', { x: row(k) })), [...row(k + 1)]);
});

test('an input without dimensions is an array that views the memory', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import numpy
    for request in requests:
        assert type(array(request)) is numpy.ndarray and array(request).shape == ()
        assert not array(request).flags.owndata
    return [answer(array(request).reshape(1) + 1) for request in requests]`;
  const { config = '' } = script(text);
  const server = await serving(t, {
    m: {
      ...script(text),
      config: config
        .replace(/max_batch_size: \d+/, 'max_batch_size: 0')
        .replace(/dims: \[ ?16 ?\]/, 'dims: [ 1 ] reshape { }')
        .replace(/dims: \[ ?16 ?\]/, 'dims: [ 1 ]'),
    },
  });
  assert.deepEqual(floats(await server.infer('m', { x: Float32Array.of(4) })), [5]);
});

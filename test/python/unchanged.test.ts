/** Python repositories that were written for Triton run unchanged. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { floats, rejection, row, until } from '../support/harness.js';
import { adds, recorded, script, serving, skip } from './harness.js';

const out = (
  dims: number[],
  datatype: 'FP32' | 'BYTES' = 'FP32',
): { name: string; dims: number[]; datatype: 'FP32' | 'BYTES' }[] => [{ name: 'y', dims, datatype }];

test(
  'the log, the folder and metrics are there while a model completes its configuration',
  { skip },
  async (t) => {
    const text = `@staticmethod
def auto_complete_config(config):
    pb_utils.Logger.log_info("completing in " + pb_utils.get_model_dir())
    pb_utils.Logger.log("loudly", pb_utils.Logger.LogLevel.WARNING)
    family = pb_utils.MetricFamily(name="completed", description="d", kind=pb_utils.MetricFamily.COUNTER)
    family.Metric(labels={"model": config.as_dict()["name"]}).increment(1)
    config.set_max_batch_size(8)
    config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [16]})
    config.add_output({"name": "y", "data_type": "TYPE_FP32", "dims": [16]})
    return config
${adds}`;
    const { logger, lines } = recorded();
    const server = await serving(t, { add: { ...script(text), config: 'backend: "python"' } }, { logger });
    assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(1)]);
    assert.ok(lines.some((line) => /^info: .*completing in .*\/add\/1$/.test(line)));
    assert.ok(lines.some((line) => /^warn: .*loudly/.test(line)));
  },
);

test(
  'outputs that the configuration does not have are left out, whatever way they are sent',
  { skip },
  async (t) => {
    const more = `def responds(self, request):
    return pb_utils.InferenceResponse([
        pb_utils.Tensor("extra", array(request) * 2),
        pb_utils.Tensor("y", array(request) + 1),
    ])
`;
    const { logger, lines } = recorded();
    const server = await serving(
      t,
      {
        returned: script(`${more}def execute(self, requests):
    return [self.responds(request) for request in requests]`),
        sent: script(`${more}def execute(self, requests):
    for request in requests:
        request.get_response_sender().send(self.responds(request), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    return None`),
      },
      { logger },
    );
    for (const model of ['returned', 'sent']) {
      const results = await Promise.all([0, 1, 2].map((i) => server.infer(model, { x: row(i) })));
      results.forEach((result, i) => {
        assert.deepEqual(Object.keys(result.outputs), ['y']);
        assert.deepEqual(floats(result), [...row(i + 1)]);
      });
    }
    // The log does not come with the answers.
    await until(() =>
      lines.some((line) => /info: .*'extra' is left out: the configuration has y/.test(line)),
    );
  },
);

test('modules are imported relatively, and none takes the place of one of Python', { skip }, async (t) => {
  const text = `def execute(self, requests):
    import secrets
    import stub
    from . import helper
    from .inner.deep import three
    import plain
    assert plain.found
    assert secrets.token_hex(2) and not hasattr(secrets, "mine")
    assert stub.mine
    import shared_by_versions
    return [answer(helper.more(array(request)) + three() + shared_by_versions.four) for request in requests]`;
  const model = script(
    text,
    {},
    {
      'helper.py': 'from .inner import deep\ndef more(x):\n    return x + deep.three() - 1\n',
      'plain.py': 'found = True\n',
      'inner/__init__.py': '',
      'inner/deep.py': 'def three():\n    return 3\n',
      'secrets.py': 'mine = True\n',
      'stub.py': 'mine = True\n',
    },
  );
  const server = await serving(t, { add: { ...model, files: { 'shared_by_versions.py': 'four = 4\n' } } });
  assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(9)]);
});

test('a version folder that is a package with an __init__.py is imported as one', { skip }, async (t) => {
  const text = `def execute(self, requests):
    from . import amount
    return [answer(array(request) + amount) for request in requests]`;
  const server = await serving(t, { add: script(text, {}, { '__init__.py': 'amount = 5\n' }) });
  assert.deepEqual(floats(await server.infer('add', { x: row() })), [...row(5)]);
});

test(
  'tables of datatypes, levels of the log and bytes of strings are those of Triton',
  { skip },
  async (t) => {
    const text = `def execute(self, requests):
    import numpy
    from triton_python_backend_utils import TRITON_STRING_TO_NUMPY
    assert TRITON_STRING_TO_NUMPY["TYPE_FP32"] == numpy.float32
    assert TRITON_STRING_TO_NUMPY["TYPE_STRING"] == numpy.object_
    assert len(TRITON_STRING_TO_NUMPY) == 13
    assert pb_utils.TRITON_TO_NUMPY_TYPE[11] == numpy.float32
    assert pb_utils.NUMPY_TO_TRITON_TYPE[numpy.int64] == 9
    assert pb_utils.Logger.LogLevel.INFO == pb_utils.Logger.INFO
    try:
        pb_utils.NO_SUCH_THING
        raise AssertionError("it has it")
    except AttributeError:
        pass
    strings = numpy.array([b"ab", "\\u00fc"], dtype=object)
    data = pb_utils.serialize_byte_tensor(strings)
    assert data == b"\\x02\\0\\0\\0ab\\x02\\0\\0\\0\\xc3\\xbc", data
    assert list(pb_utils.deserialize_bytes_tensor(data)) == [b"ab", b"\\xc3\\xbc"]
    assert len(pb_utils.serialize_byte_tensor(numpy.empty([0], dtype=object))) == 0
    return [answer(array(request)) for request in requests]`;
    const server = await serving(t, { same: script(text) });
    assert.deepEqual(floats(await server.infer('same', { x: row() })), [...row()]);
  },
);

test('a written policy stays: what the model says otherwise is an error', { skip }, async (t) => {
  const text = (decoupled: string): string => `@staticmethod
def auto_complete_config(config):
    config.set_model_transaction_policy({"decoupled": ${decoupled}})
    return config
${adds}`;
  const written = 'model_transaction_policy { decoupled: false }\n';
  const { config = '', ...model } = script(text('True'));
  const error = await rejection(serving(t, { m: { ...model, config: config + written } }));
  assert.match(error.message, /decoupled is configured as False, but auto_complete_config says True/);
  const same = script(text('False'));
  const server = await serving(t, { m: { ...same, config: `${same.config ?? ''}\n${written}` } });
  assert.deepEqual(floats(await server.infer('m', { x: row() })), [...row(1)]);
});

const nameOnly = `max_batch_size: 8 input [ { name: "x" } ] output [ { name: "y" } ]`;

test(
  'a model is asked for what entries with only a name lack, in Python and in JavaScript',
  { skip },
  async (t) => {
    const python = script(`@staticmethod
def auto_complete_config(config):
    assert config.as_dict()["input"][0]["dims"] == []
    config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [16]})
    config.add_output({"name": "y", "data_type": "TYPE_FP32", "dims": [16]})
    return config
${adds}`);
    const javaScript = `export default class {
  static completeConfig() {
    const tensor = { data_type: 'TYPE_FP32', dims: [16] };
    return { input: [{ name: 'x', ...tensor }], output: [{ name: 'y', ...tensor }] };
  }
  execute(requests) {
    return requests.map((request) => ({ y: request.inputs.x.data.map((one) => one + 1) }));
  }
}`;
    const server = await serving(t, {
      python: { ...python, config: `backend: "python" ${nameOnly}` },
      javascript: {
        config: `backend: "javascript" ${nameOnly}`,
        versions: { '1': { 'model.mjs': javaScript } },
      },
    });
    for (const model of ['python', 'javascript']) {
      assert.deepEqual(floats(await server.infer(model, { x: row() })), [...row(1)], model);
    }
  },
);

test('what neither the configuration nor the model says is missing', { skip }, async (t) => {
  const silent = script(adds);
  const half = script(`@staticmethod
def auto_complete_config(config):
    config.add_input({"name": "x", "data_type": "TYPE_FP32", "dims": [16]})
    return config
${adds}`);
  for (const [model, missing] of [
    [silent, /input\[0\]\.data_type[^]*output\[0\]\.dims/],
    [half, /output\[0\]\.data_type/],
  ] as const) {
    const error = await rejection(serving(t, { m: { ...model, config: `backend: "python" ${nameOnly}` } }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.match(error.message, missing);
  }
});

/** Invalid outputs of a model, and the expected errors. */
const misfits: readonly { name: string; gives: string; says: RegExp; dims?: number[]; batches?: boolean }[] =
  [
    {
      name: 'another datatype',
      gives: 'a.astype(numpy.float64)',
      says: /output 'y': expected FP32 \[1, 16\] but the model gave FP64 \[1, 16\]: convert the array with astype\(numpy\.float32\)/,
    },
    {
      name: 'no batch dimension',
      gives: 'a[0]',
      says: /expected FP32 \[1, 16\] but the model gave FP32 \[16\]: it lacks the batch dimension/,
    },
    {
      name: 'too few rows',
      gives: 'a[:0]',
      says: /but the model gave FP32 \[0, 16\]: the first dimension is the request's rows/,
    },
    {
      name: 'other dims',
      gives: 'a[:, :8]',
      says: /expected FP32 \[1, 16\] but the model gave FP32 \[1, 8\]/,
    },
    { name: 'more dims', gives: 'a[:, :, None]', says: /but the model gave FP32 \[1, 16, 1\]/, dims: [-1] },
    {
      name: 'strings for numbers',
      gives: 'a.astype(object)',
      says: /but the model gave BYTES \[1, 16\]: convert the array with astype\(numpy\.float32\)/,
    },
  ];

test(
  'an output of another datatype or shape is an error of the model, whatever way it is sent',
  { skip },
  async (t) => {
    const ways: Readonly<Record<string, (gives: string) => string>> = {
      returned: (gives) => `def execute(self, requests):
    import numpy
    return [answer(${gives}) for a in map(array, requests)]`,
      sent: (gives) => `def execute(self, requests):
    import numpy
    for request in requests:
        a = array(request)
        request.get_response_sender().send(answer(${gives}), pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
    return None`,
    };
    const models = misfits.flatMap(({ gives, dims = [16] }, k) =>
      Object.entries(ways).map(
        ([way, text]) => [`${way}${k}`, script(text(gives), { outputs: out(dims) })] as const,
      ),
    );
    const server = await serving(t, Object.fromEntries(models));
    for (const [k, { name, says }] of misfits.entries()) {
      for (const way of Object.keys(ways)) {
        const errors = await Promise.all(
          [0, 1].map((i) => rejection(server.infer(`${way}${k}`, { x: row(i) }))),
        );
        for (const error of errors) {
          assert.equal(error.code, 'INTERNAL', `${way}: ${name}`);
          assert.match(error.message, says, `${way}: ${name}`);
          assert.match(error.message, new RegExp(`^model '${way}${k}'`), `${way}: ${name}`);
        }
      }
    }
  },
);

test('a model that requires others is loaded and warmed up after them', { skip }, async (t) => {
  const slow = `def initialize(self, args):
    time.sleep(0.5)
${adds}`;
  const calls = `def execute(self, requests):
    def call(request):
        made = pb_utils.InferenceRequest(model_name="slow", requested_output_names=["y"], inputs=[tensor(request)])
        response = made.exec()
        if response.has_error():
            raise pb_utils.TritonModelException(response.error().message())
        return answer(pb_utils.get_output_tensor_by_name(response, "y").as_numpy())
    return [call(request) for request in requests]`;
  const { config = '', ...caller } = script(calls, { parameters: { requires: 'slow' } });
  const warmup =
    'model_warmup [ { name: "w" batch_size: 1 inputs { key: "x" value { data_type: TYPE_FP32 dims: [ 16 ] zero_data: true } } } ]\n';
  const server = await serving(t, {
    caller: { ...caller, config: `${config}\n${warmup}` },
    slow: script(slow),
  });
  assert.deepEqual(floats(await server.infer('caller', { x: row() })), [...row(1)]);
});

/** The settings that the native side gets, and the shapes that it gives the model. */

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BackendContext } from '../../../src/backends/context.js';
import { backend } from '../../../src/backends/openvino/index.js';
import { reshapedDescription } from '../../../src/backends/openvino/reshape.js';
import { expandConfig, type ModelDescription } from '../../../src/config/index.js';
import { TritonError } from '../../../src/index.js';
import type { BackendConfig } from '../../../src/options.js';
import { root } from '../../support/project.js';
import { temporaryFolder, writeRepository } from '../../support/repository.js';
import { thrown } from '../../support/harness.js';

const library = '/opt/libs/libopenvino_c.so.2641';

function contextOf(
  parameters: Readonly<Record<string, string>>,
  options: BackendConfig = {},
  more: Partial<BackendContext> = {},
): BackendContext {
  const written = Object.entries(parameters).map(([key, string_value]) => [key, { string_value }] as const);
  return {
    config: expandConfig({ name: 'm', backend: 'openvino', parameters: Object.fromEntries(written) }),
    modelDirectory: undefined,
    versionDirectory: undefined,
    trustedFolders: [],
    options: { library, ...options },
    cores: 6,
    spinCores: 0,
    fault: (field, text, code = 'INVALID_ARG') => new TritonError(code, `${field}: ${text}`),
    boundCores: undefined,
    devices: [-1],
    noGpu: () => undefined,
    ...more,
  };
}

/** The settings, and in place of `properties` each of these. */
function settingsOf(...args: Parameters<typeof contextOf>): Record<string, string> {
  const { properties = '', ...rest } = backend.settings(contextOf(...args));
  const pairs = properties.split('\n').map((line): [string, string] => {
    const [key = '', value = ''] = line.split('=', 2);
    return [key, value];
  });
  return { ...rest, ...Object.fromEntries(pairs) };
}

const normal = {
  library,
  device: 'CPU',
  INFERENCE_PRECISION_HINT: 'f32',
  PERFORMANCE_HINT: 'LATENCY',
  INFERENCE_NUM_THREADS: '6',
  CPU_RUNTIME_CACHE_CAPACITY: '1024',
};

test('without parameters a model runs on the CPU, in FP32, on all cores', () => {
  assert.deepEqual(settingsOf({}), normal);
  assert.equal(
    backend.settings(contextOf({}))['properties'],
    'INFERENCE_PRECISION_HINT=f32\nPERFORMANCE_HINT=LATENCY\nINFERENCE_NUM_THREADS=6\nCPU_RUNTIME_CACHE_CAPACITY=1024',
  );
});

test('parameters become properties of the compiled model', () => {
  const parameters = {
    PERFORMANCE_HINT: 'cumulative_throughput',
    NUM_STREAMS: 'numa',
    INFERENCE_NUM_THREADS: '3',
    HINT_BF16: 'yes',
  };
  assert.deepEqual(settingsOf(parameters), {
    ...normal,
    INFERENCE_PRECISION_HINT: 'bf16',
    PERFORMANCE_HINT: 'CUMULATIVE_THROUGHPUT',
    NUM_STREAMS: 'NUMA',
    INFERENCE_NUM_THREADS: '3',
  });
  assert.deepEqual(settingsOf({ NUM_STREAMS: '4', INFERENCE_NUM_THREADS: '0' }), {
    ...normal,
    NUM_STREAMS: '4',
  });
});

test('other devices get only the properties that are written', () => {
  assert.deepEqual(settingsOf({ TARGET_DEVICE: 'auto:gpu,cpu' }), {
    library,
    device: 'AUTO:GPU,CPU',
    PERFORMANCE_HINT: 'LATENCY',
  });
  assert.deepEqual(
    settingsOf({
      TARGET_DEVICE: 'GPU.0',
      HINT_BF16: 'YES',
      INFERENCE_NUM_THREADS: '2',
      COMPILATION_NUM_THREADS: '4',
    }),
    {
      library,
      device: 'GPU.0',
      INFERENCE_PRECISION_HINT: 'bf16',
      PERFORMANCE_HINT: 'LATENCY',
      INFERENCE_NUM_THREADS: '2',
      COMPILATION_NUM_THREADS: '4',
    },
  );
  // OpenVINO's CPU device has no such property.
  assert.deepEqual(settingsOf({ COMPILATION_NUM_THREADS: '4' }), normal);
});

test('flags are on for YES only, in any case', () => {
  for (const value of ['YES', 'yes', 'Yes'])
    assert.deepEqual(settingsOf({ ENABLE_BATCH_PADDING: value, RESHAPE_IO_LAYERS: value }), {
      ...normal,
      padding: 'true',
      reshape: 'true',
    });
  for (const value of ['NO', 'true', '1'])
    assert.deepEqual(settingsOf({ ENABLE_BATCH_PADDING: value, RESHAPE_IO_LAYERS: value }), normal);
});

test("the options of the backend apply where the model's parameters say nothing", () => {
  const options = { PERFORMANCE_HINT: 'THROUGHPUT', INFERENCE_NUM_THREADS: 2, RESHAPE_IO_LAYERS: 'YES' };
  assert.deepEqual(settingsOf({ INFERENCE_NUM_THREADS: '5' }, options), {
    ...normal,
    PERFORMANCE_HINT: 'THROUGHPUT',
    INFERENCE_NUM_THREADS: '5',
    reshape: 'true',
  });
  const error = thrown(() => settingsOf({}, { NUM_STREAMS: 'many' }));
  assert.match(error.message, /AUTO, NUMA or a number .* for backendConfig\.openvino\['NUM_STREAMS'\]/);
});

test('a wrong value is an error with the field', () => {
  for (const [key, value, expected] of [
    ['PERFORMANCE_HINT', 'FAST', /LATENCY, THROUGHPUT, CUMULATIVE_THROUGHPUT but received 'FAST'/],
    ['NUM_STREAMS', '-1', /AUTO, NUMA or a number/],
    ['NUM_STREAMS', '0', /AUTO, NUMA or a number/],
    ['INFERENCE_NUM_THREADS', '-1', /a whole number from 0/],
    ['COMPILATION_NUM_THREADS', '1.5', /a whole number from 0/],
    ['HINT_BF16', 'NO', /expected YES but received 'NO'/],
    ['TARGET_DEVICE', 'CPU\nGPU', /a device of OpenVINO/],
    ['CPU_EXTENSION_PATH', '/etc/libx.so', /leads to/],
  ] as const) {
    const error = thrown(() => settingsOf({ [key]: value }));
    assert.equal(error.code, 'INVALID_ARG');
    assert.ok(error.message.startsWith(`parameters["${key}"]: `), error.message);
    assert.match(error.message, expected);
  }
});

test("an extension lies in the model's folder, beside the library or in a trusted folder", async (t) => {
  const folder = await temporaryFolder(t);
  await writeRepository(folder, {
    model: { files: { 'ops.so': '' } },
    libs: { files: { 'libopenvino_c.so': '', 'more.so': '' } },
    trusted: { files: { 'trusted.so': '' } },
    other: { files: { 'other.so': '' } },
  });
  const more = { modelDirectory: join(folder, 'model'), trustedFolders: [join(folder, 'trusted')] };
  const options = { library: join(folder, 'libs', 'libopenvino_c.so') };
  const extension = (path: string): unknown =>
    settingsOf({ CPU_EXTENSION_PATH: path }, options, more)['extension'];
  for (const path of ['model/ops.so', 'libs/more.so', 'trusted/trusted.so'])
    assert.equal(extension(join(folder, path)), join(folder, path));
  assert.equal(extension('ops.so'), join(folder, 'model', 'ops.so'));
  assert.match(thrown(() => extension(join(folder, 'other', 'other.so'))).message, /other\.so/);
  assert.match(thrown(() => extension('../other/other.so')).message, /other\.so/);
  // The server's own options may name any file.
  const path = join(folder, 'other', 'other.so');
  assert.equal(settingsOf({}, { ...options, CPU_EXTENSION_PATH: path }, more)['extension'], path);
});

const described: ModelDescription = {
  inputs: [tensor('x', [1, 3, 8, 8])],
  outputs: [tensor('y', [1, 3]), tensor('all', [])],
  mostRows: 0,
};

function tensor(name: string, shape: readonly number[]): ModelDescription['inputs'][number] {
  return { name, datatype: 'FP32', typeName: 'f32', shape, optional: false, dimNames: [] };
}

const shapes = ({ inputs, outputs }: ModelDescription): unknown =>
  [...inputs, ...outputs].map(({ shape }) => shape);

test('with batches, a fixed first dimension is variable', () => {
  const batched = reshapedDescription(described, expandConfig({ max_batch_size: 4 }), false);
  assert.deepEqual(shapes(batched), [[-1, 3, 8, 8], [-1, 3], []]);
  assert.equal(batched.mostRows, undefined);
  assert.equal(reshapedDescription(described, expandConfig({}), false), described);
});

test('RESHAPE_IO_LAYERS takes the written dims', () => {
  const written = { input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [3, 2, 2] }] } as const;
  const batched = reshapedDescription(described, expandConfig({ ...written, max_batch_size: 4 }), true);
  assert.deepEqual(shapes(batched), [[-1, 3, 2, 2], [-1, 3], []]);
  const whole = reshapedDescription(described, expandConfig(written), true);
  assert.deepEqual(shapes(whole), [[3, 2, 2], [1, 3], []]);
});

test('the page has every parameter', async () => {
  const page = await readFile(join(root, 'docs', 'frameworks.md'), 'utf8');
  for (const key of Object.keys(backend.rules?.parameters ?? {})) assert.ok(page.includes(`\`${key}\``), key);
});

/** Measures the response cache: hits, against inline runs and copies of the same bytes, and misses. */
import { createServer, type InferenceServer, type ModelConfigInput } from '../../src/index.js';
import { addModel, mlpModel, mlpWidths } from '../../test/support/models.js';
import { measureInTurn, type Rounds } from '../measuring/turns.js';
import { estimate } from '../reports/statistics.js';
import type { Measured } from './limits.js';

/** How long one is measured at a time, in milliseconds. */
const windowMs = 400;
/** Requests of a tick. */
const together = 64;
const tinyWidth = 16;
/** An image of 224 by 224 pixels in three colours, as floats: 602 KB. */
const imageWidth = 3 * 224 * 224;

const cached = { response_cache: { enable: true } } as const;

function serve(size: number): Promise<InferenceServer> {
  const tensors = (width: number): Partial<ModelConfigInput> => ({
    input: [{ name: 'x', data_type: 'TYPE_FP32', dims: [width] }],
    output: [{ name: 'y', data_type: 'TYPE_FP32', dims: [width] }],
    instance_group: [{ kind: 'KIND_CPU' }],
    dynamic_batching: {},
    max_batch_size: together,
  });
  const tiny = { 'model.onnx': addModel({ width: tinyWidth }) };
  const image = { 'model.onnx': addModel({ width: imageWidth }) };
  const mlp = { 'model.onnx': mlpModel() };
  const mlpWidth = mlpWidths[0] ?? 0;
  const models = {
    tiny: { config: { backend: 'onnxruntime', ...tensors(tinyWidth) }, files: tiny },
    tiny_cached: { config: { backend: 'onnxruntime', ...tensors(tinyWidth), ...cached }, files: tiny },
    mlp: { config: { backend: 'onnxruntime', ...tensors(mlpWidth) }, files: mlp },
    mlp_cached: { config: { backend: 'onnxruntime', ...tensors(mlpWidth), ...cached }, files: mlp },
    image: { config: { backend: 'onnxruntime', ...tensors(imageWidth) }, files: image },
    image_cached: { config: { backend: 'onnxruntime', ...tensors(imageWidth), ...cached }, files: image },
  };
  return createServer({ models, cacheConfig: { local: { size } } });
}

/** Calls `body` for a while. Returns the microseconds of a call. */
async function timeOf(body: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  let calls = 0;
  let now = start;
  while (now < start + windowMs) {
    for (let i = 0; i < 4; i++) await body();
    calls += 4;
    now = performance.now();
  }
  return ((now - start) * 1000) / calls;
}

/** The microseconds of a request, for a number of requests in each tick. `next` changes the input. */
async function requestTime(
  server: InferenceServer,
  name: string,
  count: number,
  inputs: readonly Float32Array[],
  next?: (x: Float32Array) => void,
  into?: Float32Array,
): Promise<number> {
  const model = server.model(name);
  const options = into && { into: { y: into } };
  const us = await timeOf(() =>
    Promise.all(
      Array.from({ length: count }, (_, i) => {
        const x = inputs[i % inputs.length] ?? new Float32Array(0);
        next?.(x);
        return model.infer({ x }, options);
      }),
    ),
  );
  return us / count;
}

/** Measures all in turn, in each round. */
export async function measureCache(rounds: number): Promise<Measured[]> {
  // Misses fill their cache, and would evict what hits find.
  const server = await serve(2 ** 26);
  const missing = await serve(2 ** 26);
  const tiny = Array.from({ length: together }, (_, i) => new Float32Array(tinyWidth).fill(i));
  const image = [new Float32Array(imageWidth).fill(1)];
  const copy = new Float32Array(imageWidth);
  let fresh = 1000;
  const change = (x: Float32Array): void => {
    x[0] = fresh++;
  };
  const layers = Array.from({ length: together }, () => new Float32Array(mlpWidths[0] ?? 0));
  const changing = Array.from({ length: together }, () => new Float32Array(tinyWidth));
  const figures = {
    inline: () => requestTime(server, 'tiny', together, tiny),
    hit: () => requestTime(server, 'tiny_cached', together, tiny),
    alone: () => requestTime(server, 'tiny', 1, tiny),
    hitAlone: () => requestTime(server, 'tiny_cached', 1, tiny),
    plain: () => requestTime(missing, 'tiny', together, changing, change),
    miss: () => requestTime(missing, 'tiny_cached', together, changing, change),
    plainMlp: () => requestTime(missing, 'mlp', together, layers, change),
    missMlp: () => requestTime(missing, 'mlp_cached', together, layers, change),
    plainImage: () => requestTime(missing, 'image', 1, image, change, copy),
    missImage: () => requestTime(missing, 'image_cached', 1, image, change, copy),
    hitImage: () => requestTime(server, 'image_cached', 1, image, undefined, copy),
    copy: () =>
      timeOf(() => {
        // In and out.
        copy.set(image[0] ?? []);
        image[0]?.set(copy);
        return Promise.resolve();
      }),
  };
  let measured: Rounds<keyof typeof figures>;
  try {
    measured = await measureInTurn(figures, rounds);
  } finally {
    await Promise.all([server.close(), missing.close()]);
  }
  return [
    {
      what: `a hit of 64 bytes, ${together} a tick`,
      value: estimate(measured.ratios('hit', 'inline')),
      unit: 'x',
      limit: { atMost: 1.3 },
      detail: 'the time of an inline run of a tiny model',
    },
    {
      what: 'a hit of 64 bytes, alone',
      value: estimate(measured.of('hitAlone')),
      unit: 'µs',
      limit: { atMost: 2.5 },
    },
    {
      what: 'the same',
      value: estimate(measured.ratios('hitAlone', 'alone')),
      unit: 'x',
      detail: 'the time of an inline run of a tiny model',
    },
    {
      what: 'a hit of 602 KB',
      value: estimate(measured.ratios('copy', 'hitImage')),
      unit: 'x',
      limit: { atLeast: 0.5 },
      detail: 'the rate of copying its bytes in and out; to an array of the caller',
    },
    {
      what: `misses of a model with three layers, ${together} a tick`,
      value: estimate(measured.ratios('plainMlp', 'missMlp')),
      unit: 'x',
      limit: { atLeast: 0.9 },
      detail: 'the rate of the same model without a cache',
    },
    {
      what: `misses of 64 bytes of a tiny model, ${together} a tick`,
      value: estimate(measured.ratios('plain', 'miss')),
      unit: 'x',
      detail: 'the rate of the same model without a cache',
    },
    {
      what: 'misses of 602 KB of a tiny model',
      value: estimate(measured.ratios('plainImage', 'missImage')),
      unit: 'x',
      detail: 'the rate of the same model without a cache',
    },
  ];
}

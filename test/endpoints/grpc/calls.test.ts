/** The other RPCs: metadata, model control, health, reflection, and RPCs that are always refused. */
// Own process: it measures the memory of the process.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { status } from '@grpc/grpc-js';
import descriptor from 'protobufjs/ext/descriptor.js';
import { describeFiles } from '../../../src/endpoints/grpc/descriptors.js';
import { protoFiles } from '../../../src/protocol/protobuf/files.js';
import { addModel } from '../../support/models.js';
import { configText, identity, onnx, serve, until } from '../../support/harness.js';
import { endpointOf, failure, foreign, Messages, reflect, reflectionQuestion, responses } from './harness.js';

test('what the server and its models say', async (t) => {
  const server = await serve(t, { m: onnx(), other: identity() });
  const client = await foreign(t, await endpointOf(t, server));
  assert.deepEqual(await client.call('ServerLive'), { live: true });
  assert.deepEqual(await client.call('ServerReady'), { ready: true });
  assert.deepEqual(await client.call('ModelReady', { name: 'm', version: '01' }), { ready: true });
  assert.equal((await failure(client.call('ModelReady', { name: 'no' }))).code, status.NOT_FOUND);
  const { name, version, extensions } = server.metadata();
  const metadata = await client.call('ServerMetadata');
  assert.equal(metadata['name'], name);
  assert.equal(metadata['version'], version);
  assert.ok((metadata['extensions'] as string[]).includes('statistics'), String(extensions));
  assert.deepEqual(await client.call('ModelMetadata', { name: 'm' }), {
    name: 'm',
    versions: ['1'],
    platform: 'onnxruntime_onnx',
    inputs: [{ name: 'x', datatype: 'FP32', shape: ['-1', '16'] }],
    outputs: [{ name: 'y', datatype: 'FP32', shape: ['-1', '16'] }],
  });
  const { config } = (await client.call('ModelConfig', { name: 'm' })) as { config: Record<string, unknown> };
  assert.equal(config['max_batch_size'], 64);
  assert.deepEqual(config['input'], [{ name: 'x', data_type: 'TYPE_FP32', dims: ['16'] }]);
  assert.deepEqual(config['instance_group'], [{ name: 'm_0', kind: 'KIND_CPU', count: 1 }]);
  assert.deepEqual((await client.call('RepositoryIndex', { ready: true }))['models'], [
    { name: 'm', version: '1', state: 'READY' },
    { name: 'other', version: '1', state: 'READY' },
  ]);
});

test('statistics', async (t) => {
  const server = await serve(t, { m: onnx(), other: identity() });
  const client = await foreign(t, await endpointOf(t, server));
  await server.infer('m', { x: new Float32Array(32) });
  const { model_stats: all } = await client.call('ModelStatistics');
  assert.equal((all as unknown[]).length, 2);
  const { model_stats: some } = await client.call('ModelStatistics', { name: 'm', version: '1' });
  const [m] = some as Record<string, unknown>[];
  assert.equal(m?.['inference_count'], '2');
  assert.equal(m['execution_count'], '1');
  const { success } = m['inference_stats'] as { success: { count: string; ns: string } };
  assert.equal(success.count, '1');
  assert.equal(success.ns, String(server.statistics('m')[0]?.inference_stats.success.ns));
  assert.deepEqual((m['batch_stats'] as { batch_size: string }[])[0]?.batch_size, '2');
  const error = await failure(client.call('ModelStatistics', { name: 'no' }));
  assert.equal(error.code, status.INVALID_ARGUMENT);
});

test('model control: config override and files', async (t) => {
  const server = await serve(t, { m: onnx() }, { modelControlMode: 'explicit', loadModels: ['*'] });
  const client = await foreign(t, await endpointOf(t, server));
  const batch = async (name: string): Promise<unknown> =>
    ((await client.call('ModelConfig', { name }))['config'] as Record<string, unknown>)['max_batch_size'];
  await client.call('RepositoryModelUnload', { model_name: 'm' });
  assert.deepEqual((await client.call('RepositoryIndex'))['models'], [
    { name: 'm', version: '1', state: 'UNAVAILABLE', reason: 'unloaded' },
  ]);
  await client.call('RepositoryModelLoad', { model_name: 'm' });
  assert.equal(await batch('m'), 64);
  const config = JSON.stringify({ backend: 'onnxruntime', max_batch_size: 3 });
  await client.call('RepositoryModelLoad', {
    model_name: 'm',
    parameters: { config: { string_param: config } },
  });
  assert.equal(await batch('m'), 3);
  const file = { bytes_param: Buffer.from(addModel()) };
  const parameters = { config: { string_param: config }, 'file:1/model.onnx': file };
  await client.call('RepositoryModelLoad', { model_name: 'fresh', parameters });
  assert.equal(await batch('fresh'), 3);
  await client.call('RepositoryModelUnload', {
    model_name: 'fresh',
    parameters: { unload_dependents: { bool_param: true } },
  });
  await client.call('RepositoryModelUnload', { model_name: 'nobody knows' });

  const load = (fields: object): Promise<unknown> =>
    client.call('RepositoryModelLoad', { model_name: 'm', ...fields });
  const wrong: readonly [object, number][] = [
    [{ repository_name: 'r' }, status.UNIMPLEMENTED],
    [{ parameters: { other: { string_param: '' } } }, status.INVALID_ARGUMENT],
    [{ parameters: { config: { bool_param: true } } }, status.INVALID_ARGUMENT],
    [{ parameters: { 'file:1/model.onnx': { string_param: '' } } }, status.INVALID_ARGUMENT],
    [{ parameters: { config: { string_param: '{' } } }, status.INVALID_ARGUMENT],
    [{ model_name: 'no' }, status.NOT_FOUND],
  ];
  for (const [fields, code] of wrong)
    assert.equal((await failure(load(fields))).code, code, JSON.stringify(fields));
  assert.equal(await batch('m'), 3);
});

test('models are controlled only where the server says so', async (t) => {
  const client = await foreign(t, await endpointOf(t, await serve(t, { m: onnx() })));
  assert.equal(
    (await failure(client.call('RepositoryModelLoad', { model_name: 'm' }))).code,
    status.UNAVAILABLE,
  );
});

test('what is missing is refused by name', async (t) => {
  const client = await foreign(t, await endpointOf(t, await serve(t, { m: onnx() })));
  assert.deepEqual(await client.call('SystemSharedMemoryStatus'), {});
  assert.deepEqual(await client.call('CudaSharedMemoryStatus'), {});
  for (const [name, text] of [
    ['SystemSharedMemoryRegister', /shared memory/],
    ['SystemSharedMemoryUnregister', /shared memory/],
    ['CudaSharedMemoryRegister', /shared memory/],
    ['CudaSharedMemoryUnregister', /shared memory/],
    ['LogSettings', /log settings/],
  ] as const) {
    const error = await failure(client.call(name));
    assert.equal(error.code, status.UNIMPLEMENTED);
    assert.match(error.details, text);
  }
  const error = await failure(client.raw('/inference.GRPCInferenceService/No%20such', Buffer.alloc(0)));
  assert.equal(error.code, status.UNIMPLEMENTED);
  assert.match(error.details, /No%20such/);
});

test('the health service tells readiness, and its changes', async (t) => {
  const server = await serve(t, { m: onnx() }, { modelControlMode: 'explicit', loadModels: ['*'] });
  const endpoint = await endpointOf(t, server);
  const client = await foreign(t, endpoint);
  const { file_descriptor_response: files } = await reflect(client.client, {
    file_containing_symbol: 'grpc.health.v1.Health',
  });
  const messages = Messages.ofFiles((files as { file_descriptor_proto: Buffer[] }).file_descriptor_proto);
  const read = (bytes: Buffer): unknown =>
    messages.read('grpc.health.v1.HealthCheckResponse', bytes)['status'];
  const request = messages.write('grpc.health.v1.HealthCheckRequest', { service: 'any' });
  assert.equal(read(await client.raw('/grpc.health.v1.Health/Check', request)), 'SERVING');
  const watching = client.watch('/grpc.health.v1.Health/Watch', request);
  const told: unknown[] = [];
  watching.on('data', (bytes: Buffer) => told.push(read(bytes)));
  watching.on('error', () => undefined);
  await until(() => told.length === 1);
  const closing = server.close({ timeoutMs: 0 });
  await until(() => told.length === 2);
  assert.deepEqual(told, ['SERVING', 'NOT_SERVING']);
  await closing;
  assert.equal(read(await client.raw('/grpc.health.v1.Health/Check', request)), 'NOT_SERVING');
  assert.equal((await failure(client.call('ServerLive'))).code, status.UNAVAILABLE);
  watching.cancel();
});

test('a stream of reflection that is not read has few answers made, and its questions have a limit', async (t) => {
  const client = await foreign(t, await endpointOf(t, await serve(t, { m: onnx() })));
  const question = reflectionQuestion({ file_containing_symbol: 'inference.ModelInferRequest' });
  const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const stream = client.client.makeBidiStreamRequest<Buffer, Buffer>(
    path,
    (bytes) => bytes,
    (bytes) => bytes,
  );
  stream.on('error', () => undefined);
  const before = process.memoryUsage();
  for (let i = 0; i < 20_000; i++) stream.write(question);
  // While they arrive, other calls are answered.
  for (let i = 0; i < 50; i++) await client.call('ServerLive');
  const { external, arrayBuffers } = process.memoryUsage();
  const grown = external + arrayBuffers - before.external - before.arrayBuffers;
  assert.ok(grown < 100 << 20, `${grown} bytes`);
  stream.cancel();
  const large = client.client.makeBidiStreamRequest<Buffer, Buffer>(
    path,
    (bytes) => bytes,
    (bytes) => bytes,
  );
  large.write(reflectionQuestion({ file_containing_symbol: 'x'.repeat(5000) }));
  const { code } = await failure(responses(large, 1));
  assert.equal(code, status.INVALID_ARGUMENT);
});

test('server reflection lists services and describes them, in both versions', async (t) => {
  const client = await foreign(t, await endpointOf(t, await serve(t, { m: onnx() })));
  for (const version of ['v1', 'v1alpha']) {
    const ask = (fields: object): Promise<Record<string, unknown>> =>
      reflect(client.client, { ...fields }, version);
    const { list_services_response: list } = await ask({ list_services: '' });
    assert.deepEqual(
      (list as { service: { name: string }[] }).service.map(({ name }) => name),
      [
        'inference.GRPCInferenceService',
        'grpc.health.v1.Health',
        'grpc.reflection.v1.ServerReflection',
        'grpc.reflection.v1alpha.ServerReflection',
      ],
    );
    for (const symbol of [
      'inference.ModelInferRequest.InferInputTensor',
      'inference.GRPCInferenceService.ModelInfer',
      'inference.ModelConfig',
      'grpc.health.v1.HealthCheckResponse.ServingStatus',
      `grpc.reflection.${version}.ServerReflection`,
    ]) {
      const { file_descriptor_response: files, original_request: echoed } = await ask({
        file_containing_symbol: symbol,
      });
      const messages = Messages.ofFiles((files as { file_descriptor_proto: Buffer[] }).file_descriptor_proto);
      assert.ok(messages.root.lookup(symbol) !== null || symbol.endsWith('ModelInfer'), symbol);
      assert.deepEqual(echoed, { file_containing_symbol: symbol });
    }
    const { error_response: error } = await ask({ file_containing_symbol: 'inference.No' });
    assert.equal((error as { error_code: number }).error_code, status.NOT_FOUND);
    const byName = await ask({ file_by_filename: 'model_config.proto' });
    assert.ok('file_descriptor_response' in byName);
  }
  // The methods are those of Triton's service, with their streams.
  const service = client.messages.root.lookupService('inference.GRPCInferenceService');
  assert.equal(service.methodsArray.length, 20);
  const stream = service.methods['ModelStreamInfer'];
  assert.equal(stream?.requestStream, true);
  assert.equal(stream.responseStream, true);
  assert.equal(service.methods['ModelInfer']?.requestStream ?? false, false);
});

test('descriptions have the names that protoc gives: clients in Go and C++ take no others', () => {
  interface Described {
    readonly name?: string;
    readonly field?: readonly {
      readonly name: string;
      readonly typeName?: string;
      readonly jsonName?: string;
    }[];
    readonly nestedType?: readonly (Described & { readonly options?: { readonly mapEntry?: boolean } })[];
  }
  let maps = 0;
  const check = ({ field = [], nestedType = [] }: Described): void => {
    for (const { name, typeName = '.', jsonName } of field) {
      assert.match(typeName, /^\./, name);
      assert.equal(jsonName?.toLowerCase(), name.replaceAll('_', ''));
    }
    for (const nested of nestedType) {
      check(nested);
      if (nested.options?.mapEntry !== true) continue;
      maps++;
      const of = field.find(({ typeName = '' }) => typeName.endsWith(`.${nested.name ?? ''}`));
      assert.equal(`${of?.name.replaceAll('_', '') ?? ''}entry`, nested.name?.toLowerCase());
    }
  };
  for (const { bytes } of describeFiles()) {
    const { FileDescriptorProto } = descriptor;
    const { messageType = [] } = FileDescriptorProto.toObject(FileDescriptorProto.decode(bytes)) as {
      readonly messageType?: readonly Described[];
    };
    for (const message of messageType) check(message);
  }
  const labels = protoFiles.flatMap(({ messages }) =>
    Object.values(messages).flatMap((rows) => Object.values(rows).map(([, , label = '']) => label)),
  );
  assert.equal(maps, labels.filter((label) => label.startsWith('map ')).length);
});

test('models that are not ready', async (t) => {
  const broken = { config: configText({ backend: 'onnxruntime' }), versions: { '1': new Uint8Array(8) } };
  const server = await serve(t, { m: onnx(), broken }, { exitOnError: false });
  const client = await foreign(t, await endpointOf(t, server));
  // false is not written.
  assert.deepEqual(await client.call('ServerReady'), {});
  assert.deepEqual(await client.call('ModelReady', { name: 'broken' }), {});
  const models = (await client.call('RepositoryIndex'))['models'] as Record<string, string>[];
  assert.equal(models.find(({ name }) => name === 'broken')?.['state'], 'UNAVAILABLE');
  assert.equal((await failure(client.call('ModelConfig', { name: 'broken' }))).code, status.UNAVAILABLE);
});

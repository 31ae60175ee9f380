// The types, with users' compilers from the oldest supported one to the newest, and every kind of module.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { run, write } from '../project.mjs';

const body = `
export async function shapes(): Promise<readonly number[]> {
  const server: InferenceServer = await createServer('./models');
  const { outputs }: InferResult = await server.model('digits').infer({ image: new Float32Array(64) });
  const data: Float32Array = (outputs['scores'] as AnyTensor).as('FP32').data;
  const endpoint: MetricsEndpoint = await serveMetrics(server, { port: 0 });
  await endpoint.close();
  const grpc: GrpcEndpoint = await serveGrpc(server, { port: 0 });
  await grpc.close();
  const http: HttpEndpoint = await serveHttp(server, { port: 0 });
  await http.close();
  const openai: OpenAIEndpoint = await serveOpenAI(server, { port: 0 });
  await openai.close();
  const remote: RemoteServer = await connectServer('http://localhost:8000');
  await remote.close();
  const tensor: Tensor<'FP32'> = (outputs['scores'] as AnyTensor).as('FP32');
  await server.close();
  return [...tensor.shape, data.length];
}
export async function named(server: InferenceServer): Promise<Float32Array> {
  const digits = server.model('digits');
  // @ts-expect-error the model has no input of that name
  await digits.infer({ picture: new Float32Array(64) });
  return (await digits.infer({ image: new Float32Array(64) })).outputs.scores.data;
}
export function rowsOf(config: ModelConfig, server: InferenceServer): readonly number[] {
  const same: ModelConfig = server.model('digits').config;
  return [config.max_batch_size, same.max_batch_size];
}
export function codeOf(error: unknown): string {
  // @ts-expect-error an error of another class has no code
  if (!(error instanceof TritonError)) return error.code;
  return error.code;
}
`;
const esm = `import { createServer, TritonError, type AnyTensor, type InferenceServer, type InferResult, type Tensor } from 'tritonts';
import { connectServer, type RemoteServer } from 'tritonts/client';
import type { ModelConfig } from 'tritonts/config';
import { serveGrpc, type GrpcEndpoint } from 'tritonts/grpc';
import { serveHttp, type HttpEndpoint } from 'tritonts/http';
import { serveMetrics, type MetricsEndpoint } from 'tritonts/metrics';
import { serveOpenAI, type OpenAIEndpoint } from 'tritonts/openai';${body}`;
const cjs = `import tritonts = require('tritonts');
import type { AnyTensor, InferenceServer, InferResult, Tensor } from 'tritonts';
import client = require('tritonts/client');
import type { RemoteServer } from 'tritonts/client';
import type { ModelConfig } from 'tritonts/config';
import grpc_ = require('tritonts/grpc');
import type { GrpcEndpoint } from 'tritonts/grpc';
import http_ = require('tritonts/http');
import type { HttpEndpoint } from 'tritonts/http';
import metrics = require('tritonts/metrics');
import type { MetricsEndpoint } from 'tritonts/metrics';
import openai_ = require('tritonts/openai');
import type { OpenAIEndpoint } from 'tritonts/openai';
const { createServer, TritonError } = tritonts;
const { connectServer } = client;
const { serveGrpc } = grpc_;
const { serveHttp } = http_;
const { serveMetrics } = metrics;
const { serveOpenAI } = openai_;${body}`;

/** Kinds of modules by the kind of resolution. `bundler` has no CommonJS of its own. */
const kinds = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext', files: ['use.mts', 'use.cts', 'import.cts'] },
  node16: { module: 'node16', moduleResolution: 'node16', files: ['use.mts', 'use.cts', 'import.cts'] },
  bundler: { module: 'esnext', moduleResolution: 'bundler', files: ['use.mts'] },
};

async function compile({ app, base, main, binary }, version) {
  const folder = join(base, `typescript-${version}`);
  write(folder, {
    'package.json': { private: true },
    'use.mts': esm,
    'use.cts': cjs,
    'import.cts': esm,
  });
  // The models of a repository, by name. They are completed by the runtime, which the empty project has.
  if (!existsSync(join(app, 'models', 'digits'))) await run(app, 'npx', ['tritonts', 'init', 'digits']);
  await run(app, 'npx', ['tritonts', 'types', 'models', '--output', join(folder, 'models.d.ts')]);
  const npm = ['install', '--no-audit', '--no-fund', `typescript@${version}`, '@types/node@20'];
  await run(folder, 'npm', [...npm, main, binary]);
  for (const [name, { files, ...options }] of Object.entries(kinds)) {
    write(folder, {
      [`tsconfig.${name}.json`]: {
        compilerOptions: {
          ...options,
          target: 'es2022',
          lib: ['es2023', 'esnext.disposable'],
          strict: true,
          noEmit: true,
          skipLibCheck: false,
          types: ['node'],
        },
        files: [...files, 'models.d.ts'],
      },
    });
    await run(folder, process.execPath, ['node_modules/typescript/bin/tsc', '-p', `tsconfig.${name}.json`]);
  }
}

export const cases = ['5.7', '6.0', 'latest'].map((version) => ({
  name: `TypeScript ${version}: nodenext, node16, bundler, ES modules and CommonJS`,
  quick: version !== 'latest',
  run: (context) => compile(context, version),
}));

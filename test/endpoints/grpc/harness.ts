/**
 * Helpers of the gRPC tests: endpoints that close with their test, and a third-party client. `@grpc/grpc-js` makes
 * the calls, and protobufjs reads and writes the messages, whose types come from server reflection.
 */

import {
  Client,
  credentials,
  Metadata,
  type CallOptions,
  type ChannelCredentials,
  type ClientDuplexStream,
  type ClientOptions,
  type ClientReadableStream,
  type ServiceError,
} from '@grpc/grpc-js';
import assert from 'node:assert/strict';
import protobuf from 'protobufjs';
import 'protobufjs/ext/descriptor.js';
import { serveGrpc, type GrpcEndpoint, type ServeGrpcOptions } from '../../../src/endpoints/grpc/serve.js';
import type { InferenceServer } from '../../../src/index.js';
import type { Context } from '../../support/harness.js';

/** An endpoint of a server, which is closed after the test. */
export async function endpointOf(
  t: Context,
  server: InferenceServer,
  options: ServeGrpcOptions = {},
): Promise<GrpcEndpoint> {
  const endpoint = await serveGrpc(server, { port: 0, ...options });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  return endpoint;
}

/** A message in protobufjs's form: names in snake_case, 64-bit integers as text, bytes as Buffer. */
export type Fields = Readonly<Record<string, unknown>>;

/** The messages of server reflection, written out here, because they are needed to call it. */
const reflection = protobuf.parse(
  `
  syntax = "proto3";
  message Request { oneof ask { string file_by_filename = 3; string file_containing_symbol = 4; string list_services = 7; } }
  message Files { repeated bytes file_descriptor_proto = 1; }
  message Service { string name = 1; }
  message Services { repeated Service service = 1; }
  message Failure { int32 error_code = 1; string error_message = 2; }
  message Response {
    Request original_request = 2;
    oneof answer { Files file_descriptor_response = 4; Services list_services_response = 6; Failure error_response = 7; }
  }
`,
  { keepCase: true },
).root;

/** Reads and writes messages by their full names. */
export class Messages {
  readonly #root: protobuf.Root;

  constructor(root: protobuf.Root) {
    this.#root = root;
    root.resolveAll();
  }

  /** The messages that these FileDescriptorProtos declare. */
  static ofFiles(files: readonly Uint8Array[]): Messages {
    // FileDescriptorSet has them in field 1.
    const writer = protobuf.Writer.create();
    for (const file of files) writer.uint32(10).bytes(file);
    return new Messages(protobuf.Root.fromDescriptor(writer.finish(), { keepCase: true }));
  }

  get root(): protobuf.Root {
    return this.#root;
  }

  write(type: string, fields: Fields): Buffer {
    const message = this.#root.lookupType(type);
    return Buffer.from(message.encode(message.fromObject(fields)).finish());
  }

  read(type: string, bytes: Uint8Array): Fields {
    const message = this.#root.lookupType(type);
    return message.toObject(message.decode(bytes), { longs: String, enums: String, bytes: Buffer });
  }
}

/** Options of a call. */
export interface CallGiven extends CallOptions {
  readonly metadata?: Readonly<Record<string, string>>;
}

const identity = (bytes: Buffer): Buffer => bytes;

function metadataOf(given: CallGiven): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(given.metadata ?? {})) metadata.set(name, value);
  return metadata;
}

/** A client on grpc-js. */
export class Foreign {
  readonly client: Client;
  readonly messages: Messages;

  constructor(client: Client, messages: Messages) {
    this.client = client;
    this.messages = messages;
  }

  /** Calls an RPC of the inference service. */
  call(name: string, fields: Fields = {}, given: CallGiven = {}): Promise<Fields> {
    const request = this.messages.write(`inference.${name}Request`, fields);
    return this.raw(`/inference.GRPCInferenceService/${name}`, request, given).then((bytes) =>
      this.messages.read(`inference.${name}Response`, bytes),
    );
  }

  /** Calls an RPC with one message of bytes. */
  raw(path: string, bytes: Buffer, given: CallGiven = {}): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(
        path,
        identity,
        identity,
        bytes,
        metadataOf(given),
        given,
        (error, answer) => {
          if (error === null && answer !== undefined) resolve(answer);
          else reject(error ?? new Error('no answer'));
        },
      );
    });
  }

  /** Opens a stream of infer requests. */
  stream(given: CallGiven = {}): ClientDuplexStream<Fields, Fields> {
    return this.client.makeBidiStreamRequest<Fields, Fields>(
      '/inference.GRPCInferenceService/ModelStreamInfer',
      (fields) => this.messages.write('inference.ModelInferRequest', fields),
      (bytes) => this.messages.read('inference.ModelStreamInferResponse', bytes),
      metadataOf(given),
      given,
    );
  }

  watch(path: string, bytes: Buffer): ClientReadableStream<Buffer> {
    return this.client.makeServerStreamRequest(path, identity, identity, bytes);
  }
}

/** The error of a call that must fail. */
export async function failure(call: Promise<unknown>): Promise<ServiceError> {
  try {
    await call;
  } catch (error) {
    assert.ok(error instanceof Error && 'code' in error, String(error));
    return error as ServiceError;
  }
  throw new assert.AssertionError({ message: 'the call did not fail' });
}

/** The responses of a stream until it ends, or until there are `count`. */
export function responses<T>(stream: ClientReadableStream<T>, count: number = Infinity): Promise<T[]> {
  return new Promise((resolve, reject) => {
    const list: T[] = [];
    stream.on('data', (one: T) => {
      if (list.push(one) === count) resolve(list);
    });
    stream.on('error', reject);
    stream.on('end', () => {
      resolve(list);
    });
  });
}

/** A question of server reflection. */
export function reflectionQuestion(ask: Fields): Buffer {
  return new Messages(reflection).write('Request', ask);
}

/** Asks server reflection. */
export async function reflect(client: Client, ask: Fields, version = 'v1'): Promise<Fields> {
  const messages = new Messages(reflection);
  const stream = client.makeBidiStreamRequest<Fields, Fields>(
    `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
    (fields) => messages.write('Request', fields),
    (bytes) => messages.read('Response', bytes),
  );
  stream.write(ask);
  const [answer = {}] = await responses<Fields>(stream, 1);
  stream.end();
  return answer;
}

/** A client, which is closed after the test. */
export async function foreign(
  t: Context,
  { address }: Pick<GrpcEndpoint, 'address'>,
  options: ClientOptions = {},
  creds: ChannelCredentials = credentials.createInsecure(),
): Promise<Foreign> {
  const client = new Client(`${address.host}:${address.port}`, creds, {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.max_receive_message_length': -1,
    ...options,
  });
  t.after(() => {
    client.close();
    return Promise.resolve();
  });
  const answer = await reflect(client, { file_containing_symbol: 'inference.GRPCInferenceService' });
  const { file_descriptor_proto: files } = answer['file_descriptor_response'] as {
    file_descriptor_proto: Buffer[];
  };
  return new Foreign(client, Messages.ofFiles(files));
}

/** A raw tensor of floats. */
export function floats(...values: readonly number[]): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

/** The floats of bytes. */
export function floatsOf(bytes: unknown): number[] {
  assert.ok(Buffer.isBuffer(bytes));
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(4 * i));
}

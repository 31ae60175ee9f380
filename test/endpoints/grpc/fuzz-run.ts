/**
 * Fuzzes gRPC messages and the bytes around them. The reader of frames gets bytes in random chunks, whole or
 * damaged; its output must not depend on the chunks. A message is read, or refused with a status; no other error
 * may be thrown. The values must be those that protobufjs reads. Now and then bytes go over a connection whose next
 * call must be answered.
 */

import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { gzipSync } from 'node:zlib';
import { TritonError, type InferenceServer } from '../../../src/index.js';
import { Budget } from '../../../src/protocol/grpc/budget.js';
import { answerCall } from '../../../src/endpoints/grpc/calls.js';
import { MessageReader } from '../../../src/protocol/grpc/framing.js';
import { InferRequestReader } from '../../../src/endpoints/grpc/infer-request.js';
import { describeFiles } from '../../../src/endpoints/grpc/descriptors.js';
import { ProtoReader } from '../../../src/protocol/protobuf/reader.js';
import { answerReflection, readReflection } from '../../../src/endpoints/grpc/reflection.js';
import { serveGrpc } from '../../../src/endpoints/grpc/serve.js';
import { RpcError } from '../../../src/protocol/grpc/status.js';
import { InferenceService } from '../../../src/endpoints/service/service.js';
import { Dice } from '../../requests/dice.js';
import { Messages } from './harness.js';
import { answerOf, framed, open } from './raw.js';

/** The outcome of a run. */
export interface GrpcFuzzReport {
  readonly executions: number;
  /** Messages that are requests of inference. */
  readonly read: number;
  /** Of these, those that the model answered. */
  readonly answered: number;
  /** How many went over a connection. */
  readonly sent: number;
}

const floats = Buffer.from(Float32Array.of(1, 2, 3, 4).buffer);
const texts = Buffer.from('\x02\0\0\0ab\0\0\0\0', 'latin1');
const half = { name: 'f', datatype: 'FP32', shape: [4] };

/** Requests of inference. The first is a good one. */
const requests: readonly object[] = [
  { model_name: 'm', id: 'a', inputs: [half], raw_input_contents: [floats] },
  {
    model_name: 'm',
    inputs: [half, { name: 's', datatype: 'BYTES', shape: [2] }],
    raw_input_contents: [floats, texts],
    parameters: { a: { int64_param: '-5' }, b: { string_param: 'é' }, priority: { uint64_param: '1' } },
    outputs: [{ name: 'g', parameters: { classification: { int64_param: '2' } } }],
  },
  {
    model_name: 'm',
    model_version: '1',
    inputs: [
      { ...half, contents: { fp32_contents: [1, 2, 3, 4] } },
      {
        name: 'i',
        datatype: 'INT64',
        shape: [2],
        contents: { int64_contents: ['-9223372036854775808', '7'] },
      },
      { name: 's', datatype: 'BYTES', shape: [1], contents: { bytes_contents: [Buffer.from('x')] } },
    ],
    parameters: { triton_enable_empty_final_response: { bool_param: true }, d: { double_param: 0.5 } },
  },
  {
    model_name: 'm',
    inputs: [
      {
        ...half,
        parameters: {
          shared_memory_region: { string_param: 'r' },
          shared_memory_offset: { int64_param: '4' },
          shared_memory_byte_size: { int64_param: '16' },
        },
      },
    ],
    outputs: [
      {
        name: 'g',
        parameters: {
          shared_memory_region: { string_param: 'r' },
          shared_memory_byte_size: { int64_param: '16' },
        },
      },
    ],
  },
  {},
];

/** Calls that only read, with a request of each. */
const others: readonly (readonly [name: string, request: object])[] = [
  ['ModelReady', { name: 'm', version: '1' }],
  ['ModelMetadata', { name: 'm' }],
  ['ModelConfig', { name: 'm' }],
  ['ModelStatistics', {}],
  ['RepositoryIndex', { ready: true }],
  ['RepositoryModelLoad', { model_name: 'm', parameters: { config: { string_param: '{}' } } }],
  ['SystemSharedMemoryStatus', { name: 'r' }],
  ['SystemSharedMemoryRegister', { name: 's', key: '/none', offset: '4', byte_size: '16' }],
  ['SystemSharedMemoryUnregister', { name: 's' }],
  ['CudaSharedMemoryRegister', { name: 's', raw_handle: Buffer.alloc(64), byte_size: '16' }],
  [
    'TraceSetting',
    {
      model_name: 'm',
      settings: { trace_rate: { value: ['12abc'] }, trace_level: { value: ['TENSORS', 'OFF'] } },
    },
  ],
  ['LogSettings', { settings: { log_info: { bool_param: true } } }],
];

/** Meaningful bytes: lengths, tags, flags of frames. */
const tokens: readonly Buffer[] = [
  ...[
    'ffffffffffffffffff01',
    'ffffffff0f',
    '80',
    '00',
    '01',
    '0a00',
    '3a00',
    '2a7f',
    '07',
    '0b',
    '0c',
    '00000000',
    'ff',
  ],
  ...['0100000000', '00ffffffff', '0000000001', '32ffffffff07', '1a8080808008', 'c3a9', 'eda080'],
].map((hex) => Buffer.from(hex, 'hex'));

function damage(dice: Dice, given: Buffer): Buffer {
  let bytes = Buffer.from(given);
  for (let rounds = dice.below(4); rounds > 0; rounds--) {
    const at = dice.below(bytes.length + 1);
    const end = Math.min(bytes.length, at + dice.below(16));
    const kind = dice.below(5);
    if (kind === 0 && bytes.length > 0) bytes[at % bytes.length] = dice.below(256);
    else if (kind === 1) bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]);
    else if (kind === 2) bytes = Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]);
    else if (kind === 3) {
      const token = tokens[dice.below(tokens.length)] ?? floats;
      bytes = Buffer.concat([bytes.subarray(0, at), token, bytes.subarray(at)]);
    } else if (dice.below(8) === 0) bytes = bytes.subarray(0, at);
  }
  return bytes;
}

/** The result of a function; undefined if it throws an error with a status. Other errors are thrown on. */
function attempt<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (error) {
    if (error instanceof TritonError || error instanceof RpcError) return undefined;
    throw error;
  }
}

/** The messages that a reader finds in these chunks, and whether it refused the rest. */
function messagesIn(pieces: readonly Buffer[]): string {
  const found: string[] = [];
  const budget = new Budget(1 << 20);
  const reader = new MessageReader(1 << 16, budget, {
    message: (bytes, compressed) => {
      found.push(`${compressed ? 1 : 0}:${bytes.toString('base64')}`);
      budget.release(bytes.length);
    },
  });
  const refused =
    attempt(() => {
      for (const piece of pieces) reader.push(piece);
      return true;
    }) === undefined;
  const { within } = reader;
  reader.drop();
  // A message that is refused in the middle was not counted, or is given back.
  if (budget.left !== 1 << 20 && !refused) throw new Error(`${(1 << 20) - budget.left} bytes are still held`);
  return `${found.join()} ${refused ? 'refused' : within ? 'within' : 'whole'}`;
}

function pieces(dice: Dice, bytes: Buffer): Buffer[] {
  const cut: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = dice.below(4) === 0 ? 1 : 1 + dice.below(bytes.length - at);
    cut.push(bytes.subarray(at, at + size));
    at += size;
  }
  return cut;
}

/** Model, id and number of inputs as protobufjs reads them; undefined: it refuses the message. */
function foreignHead(messages: Messages, bytes: Buffer): string | undefined {
  try {
    const { model_name = '', id = '' } = messages.read('inference.ModelInferRequest', bytes) as Record<
      string,
      string
    >;
    return `${model_name} ${id}`;
  } catch {
    return undefined;
  }
}

/**
 * Runs until `isOver` says so.
 *
 * @param server - With a model `m` that takes f (FP32 [-1]), s (BYTES [-1]) and i (INT64 [-1]), all optional.
 * @throws Error with the failing bytes in base64.
 */
export async function fuzzGrpc(
  server: InferenceServer,
  seed: number,
  isOver: (executions: number) => boolean,
): Promise<GrpcFuzzReport> {
  const dice = new Dice(seed);
  const service = new InferenceService(server, { clientSharedMemory: true });
  const endpoint = await serveGrpc(server, {
    port: 0,
    maxRequestBytes: 1 << 20,
    maxHeldBytes: 16 << 20,
    clientSharedMemory: true,
  });
  const messages = Messages.ofFiles(describeFiles().map(({ bytes }) => bytes));
  const write = (type: string, fields: object): Buffer => messages.write(`inference.${type}`, { ...fields });
  const corpus = requests.map((fields) => write('ModelInferRequest', fields));
  const otherCorpus = others.map(([name, fields]) => [name, write(`${name}Request`, fields)] as const);
  const [good = Buffer.alloc(0)] = corpus;
  let client: ClientHttp2Session | undefined;
  const send = (bytes: Buffer, headers: Record<string, string>): ReturnType<typeof answerOf> => {
    if (client === undefined || client.destroyed || client.closed) {
      client = connectHttp2(`http://${endpoint.address.host}:${endpoint.address.port}`);
      client.on('error', () => undefined);
    }
    const stream = open(client, headers);
    const answer = answerOf(stream);
    stream.end(bytes);
    return answer;
  };
  let executions = 0;
  let read = 0;
  let answered = 0;
  let sent = 0;
  try {
    while (!isOver(executions)) {
      const message = damage(dice, corpus[dice.below(corpus.length)] ?? good);
      const stream = damage(
        dice,
        Buffer.concat([framed(message), ...(dice.below(3) === 0 ? [framed(good, dice.below(2))] : [])]),
      );
      try {
        const whole = messagesIn([stream]);
        const cut = messagesIn(pieces(dice, stream));
        if (whole !== cut) throw new Error(`in one piece '${whole}', in several '${cut}'`);
        const reader = new InferRequestReader();
        const given = attempt(() => reader.read(new ProtoReader(message), service.regions));
        if (given !== undefined) {
          read++;
          const foreign = foreignHead(messages, message);
          if (foreign !== undefined && foreign !== `${given.model} ${given.id}`)
            throw new Error(`read '${given.model} ${given.id}', and protobufjs '${foreign}'`);
          const { inputs, id, outputs } = given;
          await server.infer('m', inputs, { id, outputs }).then(
            () => answered++,
            (error: unknown) => {
              if (!(error instanceof TritonError)) throw error;
            },
          );
        }
        const [name, request] = otherCorpus[dice.below(otherCorpus.length)] ?? ['ModelReady', good];
        const damaged = damage(dice, request);
        const done = attempt(() => answerCall(service, name, damaged));
        if (done instanceof Promise)
          await done.catch((error: unknown) => {
            if (!(error instanceof TritonError)) throw error;
          });
        attempt(() => answerReflection(readReflection(damaged)));
        if (executions % 16 === 0) {
          const zipped = dice.below(2) === 0;
          const bytes = zipped ? damage(dice, framed(gzipSync(message), 1)) : stream;
          const paths = ['ModelInfer', 'ModelStreamInfer', name];
          const path = `/inference.GRPCInferenceService/${paths[dice.below(3)] ?? ''}`;
          const { http, status } = await send(bytes, {
            ':path': path,
            ...(zipped && { 'grpc-encoding': 'gzip' }),
          });
          const isStatus = status !== undefined && status >= 0 && status <= 16;
          if (http !== 200 || !isStatus) throw new Error(`HTTP status ${http}, gRPC status ${status}`);
          const next = await send(framed(good), {});
          if (next.status !== 0) throw new Error(`the next call got ${next.status}: ${next.text}`);
          sent++;
        }
      } catch (cause) {
        const why = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
        throw new Error(
          `message ${message.toString('base64')}, stream ${stream.toString('base64')}, execution ${executions}: ${why}`,
          { cause },
        );
      }
      executions++;
    }
  } finally {
    client?.destroy();
    await endpoint.close({ timeoutMs: 0 });
  }
  return { executions, read, answered, sent };
}

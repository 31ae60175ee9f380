/** `tritonts/client`: a server in another process, with the library's own interface. */

import { expected } from '../argument-checks.js';
import { checkCodeFromStrings } from '../protocol/protobuf/library.js';
import { checkConnectOptions, type ConnectOptions } from './options.js';
import { GrpcProtocol } from './grpc/protocol.js';
import { HttpProtocol } from './http/protocol.js';
import { ServerOfProtocol } from './remote-server.js';
import type { RemoteServer } from './types.js';

export type { ConnectOptions } from './options.js';
export type { RegionOptions, RegionStatus } from '../server/memory/shared-memory.js';
export type {
  RemoteInputs,
  RemoteInto,
  RemoteSharedMemory,
  SharedMemoryInput,
  SharedMemoryOutput,
  SharedMemoryRange,
  SharedMemoryTarget,
} from './shared-memory.js';
export type {
  RemoteInferOptions,
  RemoteMapOptions,
  RemoteMetadata,
  RemoteModel,
  RemoteOutcome,
  RemoteResult,
  RemoteSequence,
  RemoteSequenceInferOptions,
  RemoteServer,
  RemoteStatistics,
  TypedRemoteModel,
  TypedRemoteOptions,
  TypedRemoteSequence,
} from './types.js';

function addressOf(url: unknown): URL {
  const given = url instanceof URL ? url.href : url;
  if (typeof given !== 'string' || !URL.canParse(given))
    throw expected("a URL such as 'http://localhost:8000'", 'connectServer', given);
  const address = new URL(given);
  if (address.search !== '' || address.hash !== '')
    throw expected('a URL without a query', 'connectServer', given);
  if (address.protocol === 'http:' || address.protocol === 'https:') return address;
  if (address.protocol !== 'grpc:' && address.protocol !== 'grpcs:')
    throw expected('http:, https:, grpc: or grpcs:', 'connectServer', given);
  // gRPC has no base path: the name of the RPC is the whole path.
  if (address.pathname !== '' && address.pathname !== '/')
    throw expected('a gRPC address without a path', 'connectServer', given);
  if (address.hostname === '') throw expected('an address with a host', 'connectServer', given);
  return address;
}

/**
 * Connects to a server in another process: tritonts, Triton, or any other server that speaks KServe v2 over
 * gRPC, or over HTTP with the extension for binary data. The returned server has the names, results and errors
 * of {@link InferenceServer}, with promises for answers. No native code is loaded.
 *
 * @param url - The server's address: `http://localhost:8000`, `https:`, `grpc://localhost:8001` (default port
 *   8001) or `grpcs:` (default port 443). Over HTTP a path in the address precedes `/v2`. A user name and
 *   password are sent as basic authorization. Streams of decoupled models need gRPC.
 * @param options - See {@link ConnectOptions}.
 * @returns The server, once it has answered a first call.
 * @throws {@link TritonError} INVALID_ARG for wrong options, UNAVAILABLE if no server answers at the address,
 *   UNSUPPORTED for gRPC if Node was told not to make functions from strings.
 *
 * @example
 * import { connectServer } from 'tritonts/client';
 * await using server = await connectServer('http://localhost:8000');
 * const { outputs } = await server.infer('digits', { image: new Float32Array(64) });
 *
 * @example
 * await using server = await connectServer('grpc://localhost:8001');
 * const model = await server.model('chat');
 * for await (const { outputs } of model.stream({ prompt: ['Hello'] })) console.log(outputs);
 */
export async function connectServer(url: string | URL, options: ConnectOptions = {}): Promise<RemoteServer> {
  const address = addressOf(url);
  const checked = checkConnectOptions(options);
  const { signal } = checked;
  const isGrpc = address.protocol.startsWith('grpc');
  if (isGrpc) checkCodeFromStrings('connectServer');
  const protocol = isGrpc ? new GrpcProtocol(address, checked) : new HttpProtocol(address, checked);
  const server = new ServerOfProtocol(protocol, signal);
  try {
    await protocol.reach(signal);
    return server;
  } catch (error) {
    await server.close({ timeoutMs: 0 });
    throw error;
  }
}

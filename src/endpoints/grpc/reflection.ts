/** Server reflection: https://github.com/grpc/grpc/blob/master/doc/server-reflection.md */

import { describeFiles, type DescribedFile } from './descriptors.js';
import { protoFiles } from '../../protocol/protobuf/files.js';
import { Messages, type Message } from '../../protocol/protobuf/messages.js';
import { RpcError, status } from '../../protocol/grpc/status.js';

/** The most bytes of a request. Its name is repeated in the answer. */
const mostBytes = 4096;

/** Both versions of the protocol have the same messages. */
const messages = new Messages('grpc.reflection.v1', mostBytes);

/** Described at the first request, as most servers never get one. */
let described: readonly DescribedFile[] | undefined;

/** A file and its dependencies. */
function withDependencies(files: readonly DescribedFile[], { file, bytes }: DescribedFile): Buffer[] {
  const others = file.dependencies.flatMap((name) => {
    const other = files.find((one) => one.file.name === name);
    return other === undefined ? [] : withDependencies(files, other);
  });
  return [bytes, ...others];
}

function notFound(what: string): object {
  return { error_response: { error_code: 5, error_message: `${what} is not known` } };
}

function reply(request: Message): object {
  const files = (described ??= describeFiles());
  const describe = (file: DescribedFile | undefined, what: string): object =>
    file === undefined
      ? notFound(what)
      : { file_descriptor_response: { file_descriptor_proto: withDependencies(files, file) } };
  if (request.has('list_services')) {
    const names = protoFiles.flatMap((file) =>
      Object.keys(file.services).map((service) => ({ name: `${file.package}.${service}` })),
    );
    return { list_services_response: { service: names } };
  }
  if (request.has('file_by_filename')) {
    const name = request.text('file_by_filename');
    return describe(
      files.find(({ file }) => file.name === name),
      `file '${name}'`,
    );
  }
  if (request.has('file_containing_symbol')) {
    const name = request.text('file_containing_symbol');
    return describe(
      files.find(({ symbols }) => symbols.has(name)),
      `symbol '${name}'`,
    );
  }
  if (request.has('all_extension_numbers_of_type')) {
    const name = request.text('all_extension_numbers_of_type');
    const known = protoFiles.some((file) =>
      Object.keys(file.messages).some((one) => `${file.package}.${one}` === name),
    );
    return known ? { all_extension_numbers_response: { base_type_name: name } } : notFound(`type '${name}'`);
  }
  if (request.has('file_containing_extension')) return notFound('the extension');
  return {
    error_response: {
      error_code: status.unimplemented,
      error_message: 'unknown kind of reflection request',
    },
  };
}

/** The request as a member of its answer. */
function echo(request: Message): object {
  return Object.fromEntries(
    Object.keys(request.fields)
      .filter((name) => name !== 'file_containing_extension')
      .map((name) => [name, request.text(name)]),
  );
}

/** A `ServerReflectionRequest`. */
export type ReflectionRequest = Message;

/**
 * Reads a `ServerReflectionRequest`.
 *
 * @throws {@link UnreadableMessage} For bytes that are not such a message, {@link RpcError} INVALID_ARGUMENT for a
 *   request that is too large.
 */
export function readReflection(bytes: Buffer): ReflectionRequest {
  if (bytes.length > mostBytes)
    throw new RpcError(
      status.invalidArgument,
      `a request of reflection has ${bytes.length} bytes, over the limit of ${mostBytes}`,
    );
  return messages.read('ServerReflectionRequest', bytes);
}

/** Answers a reflection request. */
export function answerReflection(request: ReflectionRequest): Buffer {
  return messages.write('ServerReflectionResponse', {
    valid_host: request.text('host'),
    original_request: echo(request),
    ...reply(request),
  });
}

/** The unary calls except ModelInfer: the request and response of each. */

import { invalidArgument, TritonError } from '../../errors.js';
import { readLogChanges } from '../service/log-settings.js';
import { readTraceChanges, type GivenSetting } from '../service/trace-settings.js';
import type { LoadRequest } from '../service/load-request.js';
import type { InferenceService } from '../service/service.js';
import { Messages, type Message } from '../../protocol/protobuf/messages.js';
import { versionOf } from './version.js';

/**
 * The most fields of a request, nested messages included. Each field becomes an object, however few bytes it has.
 */
const mostFields = 1 << 18;

const messages = new Messages('inference', mostFields);

/** Makes a call and returns the fields of its response. */
type Call = (service: InferenceService, request: Message) => object | Promise<object>;

const nothing = {};

const traceSettings: Call = async (service, request) => {
  const given = request.entries('settings').map(([name, value]): GivenSetting => {
    const values = value.texts('value');
    return [name, values.length === 0 ? null : values];
  });
  const changes = given.length === 0 ? undefined : readTraceChanges(given);
  const settings = await service.changeTrace(changes, request.text('model_name'));
  const fields = Object.entries(settings).map(([name, value]) => [name, { value: [value].flat() }] as const);
  return { settings: Object.fromEntries(fields) };
};

const logSettings: Call = async (service, request) => {
  const given = request.entries('settings').map(([name, value]): [string, unknown] => {
    if (value.has('bool_param')) return [name, value.flag('bool_param')];
    if (value.has('uint32_param')) return [name, value.number('uint32_param')];
    return [name, value.has('string_param') ? value.text('string_param') : undefined];
  });
  const settings = await service.changeLog(readLogChanges(given));
  const fields: Record<string, object> = {};
  for (const [name, value] of Object.entries<string | number | boolean>({ ...settings })) {
    if (typeof value === 'boolean') fields[name] = { bool_param: value };
    else fields[name] = typeof value === 'number' ? { uint32_param: value } : { string_param: value };
  }
  return { settings: fields };
};

function checkRepository(request: Message): void {
  if (request.text('repository_name') === '') return;
  throw new TritonError('UNSUPPORTED', "'repository_name' specification is not supported");
}

const filePrefix = 'file:';

function readLoad(request: Message): LoadRequest {
  const files = new Map<string, Uint8Array>();
  let config: string | undefined;
  let force = false;
  for (const [name, value] of request.entries('parameters')) {
    if (name === 'force') {
      if (!value.has('bool_param')) throw invalidArgument("parameter 'force': expected bool_param");
      force = value.flag('bool_param');
    } else if (name === 'config') {
      if (!value.has('string_param')) throw invalidArgument("parameter 'config': expected string_param");
      config = value.text('string_param');
    } else if (name.startsWith(filePrefix)) {
      if (!value.has('bytes_param')) throw invalidArgument(`parameter '${name}': expected bytes_param`);
      files.set(name.slice(filePrefix.length), value.bytes('bytes_param'));
    } else throw invalidArgument(`parameter '${name}' is neither 'config', 'file:<path>' nor 'force'`);
  }
  return { config, files, force };
}

function readUnload(request: Message): boolean {
  let dependents = false;
  for (const [name, value] of request.entries('parameters')) {
    if (name !== 'unload_dependents') continue;
    if (!value.has('bool_param')) throw invalidArgument("parameter 'unload_dependents': expected bool_param");
    dependents = value.flag('bool_param');
  }
  return dependents;
}

const model = (request: Message): [string, string | undefined] => [
  request.text('name'),
  versionOf(request.text('version')),
];

/** The region that a request names; undefined: all of them. */
function regionName(request: Message): string | undefined {
  const name = request.text('name');
  return name === '' ? undefined : name;
}

const calls: Readonly<Record<string, Call>> = {
  ServerLive: (service) => ({ live: service.live() }),
  ServerReady: (service) => ({ ready: service.ready() }),
  ModelReady: async (service, request) => ({ ready: await service.modelReady(...model(request)) }),
  ServerMetadata: (service) => service.metadata(),
  ModelMetadata: async (service, request) => {
    await service.whenAwake(...model(request))?.loaded;
    return service.modelMetadata(...model(request));
  },
  ModelConfig: async (service, request) => {
    await service.whenAwake(...model(request))?.loaded;
    return { config: service.modelConfig(...model(request)) };
  },
  ModelStatistics: async (service, request) => {
    const [name, version] = model(request);
    // Clients ask for these before their first request.
    if (name !== '') await service.whenAwake(name, version)?.loaded;
    return service.statistics(name === '' ? undefined : name, version);
  },
  RepositoryIndex: (service, request) => {
    checkRepository(request);
    return { models: service.index(request.flag('ready')) };
  },
  RepositoryModelLoad: async (service, request) => {
    checkRepository(request);
    await service.load(request.text('model_name'), readLoad(request));
    return nothing;
  },
  RepositoryModelUnload: async (service, request) => {
    checkRepository(request);
    await service.unload(request.text('model_name'), readUnload(request));
    return nothing;
  },
  SystemSharedMemoryStatus: ({ regions }, request) => ({
    regions: Object.fromEntries(
      regions
        .systemStatus(regionName(request))
        .map(({ name, key, offset, byteSize }) => [name, { name, key, offset, byte_size: byteSize }]),
    ),
  }),
  SystemSharedMemoryRegister: ({ regions }, request) => {
    regions.checkAllowed();
    const [offset, byteSize] = [request.number('offset'), request.number('byte_size')];
    regions.registerSystem(request.text('name'), { key: request.text('key'), offset, byteSize });
    return nothing;
  },
  SystemSharedMemoryUnregister: ({ regions }, request) => {
    regions.unregister('system', regionName(request));
    return nothing;
  },
  CudaSharedMemoryStatus: ({ regions }, request) => ({
    regions: Object.fromEntries(
      regions
        .cudaStatus(regionName(request))
        .map(({ name, deviceId, byteSize }) => [name, { name, device_id: deviceId, byte_size: byteSize }]),
    ),
  }),
  CudaSharedMemoryRegister: async ({ regions }, request) => {
    regions.checkAllowed();
    const [deviceId, byteSize] = [request.number('device_id'), request.number('byte_size')];
    const handle = request.bytes('raw_handle');
    await regions.registerCuda(request.text('name'), { handle, deviceId, byteSize });
    return nothing;
  },
  CudaSharedMemoryUnregister: ({ regions }, request) => {
    regions.unregister('cuda', regionName(request));
    return nothing;
  },
  TraceSetting: traceSettings,
  LogSettings: logSettings,
};

/**
 * Makes a call.
 *
 * @param name - The name of the RPC, which is one of the service's.
 * @throws {@link TritonError} The call's error, at once or as the promise's rejection.
 */
export function answerCall(service: InferenceService, name: string, bytes: Buffer): Buffer | Promise<Buffer> {
  const call = calls[name];
  if (call === undefined) throw new TritonError('UNSUPPORTED', `RPC ${name} is not supported`);
  const done = call(service, messages.read(`${name}Request`, bytes));
  const write = (fields: object): Buffer => messages.write(`${name}Response`, fields);
  return done instanceof Promise ? done.then(write) : write(done);
}

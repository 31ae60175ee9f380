/** The declarations of the endpoint's .proto files, under the files' usual names. */

import { enumTable, messageTable, type FieldRow, type MessageTable } from '../../config/index.js';
import { inferenceMessages } from './inference-messages.js';

/** The scalar types of the tables: those of configurations, and bytes. */
export const scalarTypes = [
  'double',
  'float',
  'int64',
  'uint64',
  'int32',
  'bool',
  'string',
  'bytes',
  'uint32',
] as const;

/** A field, in the form of the configuration's schema. */
export type Row = FieldRow;

/** A method: its request and response messages, and which of them are streams. */
export type MethodRow = readonly [request: string, response: string, streams?: 'response' | 'both'];

/** A file. */
export interface ProtoFile {
  readonly name: string;
  readonly package: string;
  readonly messages: MessageTable;
  /** A value's number is its index. */
  readonly enums: Readonly<Record<string, readonly string[]>>;
  readonly dependencies: readonly string[];
  /** Methods by their names, by the name of their service. */
  readonly services: Readonly<Record<string, Readonly<Record<string, MethodRow>>>>;
}

const unary = (name: string): MethodRow => [`${name}Request`, `${name}Response`];

/** The RPCs with one request and one response message, named after the RPC. */
const unaryNames = [
  ...[
    'ServerLive',
    'ServerReady',
    'ModelReady',
    'ServerMetadata',
    'ModelMetadata',
    'ModelInfer',
    'ModelConfig',
  ],
  ...['ModelStatistics', 'RepositoryIndex', 'RepositoryModelLoad', 'RepositoryModelUnload'],
  ...['SystemSharedMemoryStatus', 'SystemSharedMemoryRegister', 'SystemSharedMemoryUnregister'],
  ...['CudaSharedMemoryStatus', 'CudaSharedMemoryRegister', 'CudaSharedMemoryUnregister'],
  ...['TraceSetting', 'LogSettings'],
];

const modelConfig: ProtoFile = {
  name: 'model_config.proto',
  package: 'inference',
  dependencies: [],
  messages: messageTable,
  enums: enumTable,
  services: {},
};

const inference: ProtoFile = {
  name: 'grpc_service.proto',
  package: 'inference',
  dependencies: [modelConfig.name],
  messages: inferenceMessages,
  enums: {},
  services: {
    GRPCInferenceService: {
      ...Object.fromEntries(unaryNames.map((name) => [name, unary(name)])),
      ModelStreamInfer: ['ModelInferRequest', 'ModelStreamInferResponse', 'both'],
    },
  },
};

const health: ProtoFile = {
  name: 'grpc/health/v1/health.proto',
  package: 'grpc.health.v1',
  dependencies: [],
  messages: {
    HealthCheckRequest: { service: [1, 'string'] },
    HealthCheckResponse: { status: [1, 'HealthCheckResponse.ServingStatus'] },
  },
  enums: { 'HealthCheckResponse.ServingStatus': ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] },
  services: {
    Health: {
      Check: ['HealthCheckRequest', 'HealthCheckResponse'],
      Watch: ['HealthCheckRequest', 'HealthCheckResponse', 'response'],
    },
  },
};

const reflectionMessages: MessageTable = {
  ServerReflectionRequest: {
    host: [1, 'string'],
    file_by_filename: [3, 'string', 'oneof message_request'],
    file_containing_symbol: [4, 'string', 'oneof message_request'],
    file_containing_extension: [5, 'ExtensionRequest', 'oneof message_request'],
    all_extension_numbers_of_type: [6, 'string', 'oneof message_request'],
    list_services: [7, 'string', 'oneof message_request'],
  },
  ExtensionRequest: { containing_type: [1, 'string'], extension_number: [2, 'int32'] },
  ServerReflectionResponse: {
    valid_host: [1, 'string'],
    original_request: [2, 'ServerReflectionRequest'],
    file_descriptor_response: [4, 'FileDescriptorResponse', 'oneof message_response'],
    all_extension_numbers_response: [5, 'ExtensionNumberResponse', 'oneof message_response'],
    list_services_response: [6, 'ListServiceResponse', 'oneof message_response'],
    error_response: [7, 'ErrorResponse', 'oneof message_response'],
  },
  FileDescriptorResponse: { file_descriptor_proto: [1, 'bytes', 'repeated'] },
  ExtensionNumberResponse: { base_type_name: [1, 'string'], extension_number: [2, 'int32', 'repeated'] },
  ListServiceResponse: { service: [1, 'ServiceResponse', 'repeated'] },
  ServiceResponse: { name: [1, 'string'] },
  ErrorResponse: { error_code: [1, 'int32'], error_message: [2, 'string'] },
};

const reflection = (version: string): ProtoFile => ({
  name: `grpc/reflection/${version}/reflection.proto`,
  package: `grpc.reflection.${version}`,
  dependencies: [],
  messages: reflectionMessages,
  enums: {},
  services: {
    ServerReflection: {
      ServerReflectionInfo: ['ServerReflectionRequest', 'ServerReflectionResponse', 'both'],
    },
  },
});

/** All files. */
export const protoFiles: readonly ProtoFile[] = [
  modelConfig,
  inference,
  health,
  reflection('v1'),
  reflection('v1alpha'),
];

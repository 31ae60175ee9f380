/** The RPCs by path, and the group of each. */

import { protoFiles } from '../../protocol/protobuf/files.js';

/**
 * Groups of calls, as tritonserver's `--grpc-restricted-protocol` names them.
 *
 * - `health`: liveness and readiness of the server and of models, `grpc.health.v1`
 * - `metadata`: of the server and of models, server reflection
 * - `inference`: ModelInfer, ModelStreamInfer
 * - `model-config`: configurations
 * - `model-repository`: index, load, unload
 * - `statistics`: of models
 * - `logging`: settings of the log
 * - `shared-memory`: status, register, unregister
 * - `trace`: settings of traces
 */
export type GrpcRestrictedGroup =
  | 'health'
  | 'metadata'
  | 'inference'
  | 'shared-memory'
  | 'model-config'
  | 'model-repository'
  | 'statistics'
  | 'trace'
  | 'logging';

/** An RPC. */
export interface Method {
  readonly service: string;
  readonly name: string;
  readonly group: GrpcRestrictedGroup;
}

const groups: Readonly<Record<string, GrpcRestrictedGroup>> = {
  ServerLive: 'health',
  ServerReady: 'health',
  ModelReady: 'health',
  Check: 'health',
  Watch: 'health',
  ServerMetadata: 'metadata',
  ModelMetadata: 'metadata',
  ServerReflectionInfo: 'metadata',
  ModelInfer: 'inference',
  ModelStreamInfer: 'inference',
  ModelConfig: 'model-config',
  ModelStatistics: 'statistics',
  RepositoryIndex: 'model-repository',
  RepositoryModelLoad: 'model-repository',
  RepositoryModelUnload: 'model-repository',
  SystemSharedMemoryStatus: 'shared-memory',
  SystemSharedMemoryRegister: 'shared-memory',
  SystemSharedMemoryUnregister: 'shared-memory',
  CudaSharedMemoryStatus: 'shared-memory',
  CudaSharedMemoryRegister: 'shared-memory',
  CudaSharedMemoryUnregister: 'shared-memory',
  TraceSetting: 'trace',
  LogSettings: 'logging',
};

/** All groups. */
export const grpcRestrictedGroups: readonly GrpcRestrictedGroup[] = [
  ...new Set<GrpcRestrictedGroup>([...Object.values(groups), 'shared-memory']),
];

/** RPCs by their paths. */
export const methods: ReadonlyMap<string, Method> = new Map(
  protoFiles.flatMap(({ package: of, services }) =>
    Object.entries(services).flatMap(([service, all]) =>
      Object.keys(all).map((name): [string, Method] => [
        `/${of}.${service}/${name}`,
        { service: `${of}.${service}`, name, group: groups[name] ?? 'shared-memory' },
      ]),
    ),
  ),
);

/** What requests are sent to. */

import type { RemoteSharedMemory } from '../../client/shared-memory.js';
import type { ModelConfig } from '../../config/index.js';
import type { ModelMetadata } from '../../api/metadata.js';
import type { Flight } from '../load/flight.js';
import type { Step } from '../inputs/step.js';
import type { StatisticsOfVersion } from '../measure/server-side.js';

/** Sends the requests of a load. */
export interface Target {
  /** How many requests may be under way at once. */
  readonly mostAtOnce: number;
  /** Prepares steps, so that as little as possible is done while requests are sent. */
  prepare(steps: readonly Step[]): void;
  /** Sends a request; see {@link Flight}. Errors go to the flight. */
  send(flight: Flight): void;
  /** Cancels what is under way. */
  close(): Promise<void>;
}

/** A server with the model that is measured. */
export interface OpenedServer {
  /** How its requests travel. */
  readonly kind: 'in process' | 'http' | 'grpc';
  /** The address, or the repositories. */
  readonly place: string;
  readonly metadata: ModelMetadata;
  /** Undefined if the server has none: plain KServe v2. */
  readonly config: ModelConfig | undefined;
  /** The configuration of another model, such as the step of an ensemble; undefined if there is none. */
  configOf(model: string): Promise<ModelConfig | undefined>;
  /** Statistics of the served versions of a model. Rejects if the server has none. */
  statistics(model: string): Promise<readonly StatisticsOfVersion[]>;
  /** Its shared memory; undefined: it is in this process. */
  readonly sharedMemory?: RemoteSharedMemory | undefined;
  /**
   * Makes the target of the measurement.
   *
   * @param streaming - Whether responses are read as a stream.
   * @param parameters - Parameters of each request.
   * @param judges - Whether outputs are compared, so that they must be read.
   */
  target(
    streaming: boolean,
    parameters: Readonly<Record<string, string | number | bigint | boolean>>,
    judges: boolean,
  ): Target;
  close(): Promise<void>;
}

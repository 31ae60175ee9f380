/** How a server is named outside of the environment that created it. */

/**
 * Names a server within its process; can be sent to a worker_thread, which connects with {@link attachServer}.
 */
export interface ServerHandle {
  readonly tritonts: 'server';
  readonly process: number;
  /** Which copy of the addon the server is in. */
  readonly engine: number;
  readonly id: number;
  readonly captureStacks: boolean;
  /** As in {@link ServerMetadata}. */
  readonly devices: readonly string[];
}

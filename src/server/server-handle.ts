/** How a server is named outside of the environment that created it. */

/**
 * Names a server within its process; can be sent to a worker_thread, which connects with {@link attachServer}.
 */
export interface ServerHandle {
  /** What it is. */
  readonly tritonts: 'server';
  /** Id of the process that the server is in. */
  readonly process: number;
  /** Which copy of the addon the server is in. */
  readonly engine: number;
  /** Which server of that copy it is. */
  readonly id: number;
  /** The server's option. */
  readonly captureStacks: boolean;
  /** As in {@link ServerMetadata}. */
  readonly devices: readonly string[];
}

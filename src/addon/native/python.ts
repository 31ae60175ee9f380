/** Types for the processes of Python models. */

/** How an instance of a Python model shares memory with its process; see `native/python/channel.h`. */
export interface NativePythonOptions {
  /** The name of the memory in lists of the system. */
  readonly memoryName: string;
  readonly queueSize: number;
  /** Size of the memory that each side writes to: at first, and the step by which it grows. */
  readonly initialBytes: number;
  readonly growthBytes: number;
  /** Number of cores of the process on which threads may spin. */
  readonly cores: number;
  /** Whether to use a file for the memory although the system supports memory without a file. */
  readonly inFile: boolean;
}

/** The channel of an instance of a Python model; see `native/binding/python_wrap.h`. */
export interface NativePython {
  /** The memory's file descriptor, for the process; -1 once it was closed. */
  descriptor(): number;
  /** The descriptor of the memory of the version's inputs. */
  inputsDescriptor(): number;
  closeDescriptor(): void;
  /**
   * Starts the channel.
   *
   * @param onBroken - Called once if the process violates the protocol, or if memory lacks for its messages.
   * @returns False if there is no thread for the channel; undefined if the instance is closed.
   */
  start(onBroken: (reason: string) => void): boolean | undefined;
  /** Marks the process as ready to take batches. */
  up(): void;
  /** Asks the process to finalize the model and exit. */
  askToEnd(): void;
  /** Asks the process whether its model is ready. The process answers over its socket. */
  askReady(): void;
  /** Reports that the process is gone. Requests that it has not answered fail. */
  stop(): void;
}

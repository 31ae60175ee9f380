/** Processes of Python models. */

/** How an instance of a Python model shares memory with its process; `native/backends/python/channel.h`. */
export interface NativePythonOptions {
  /** What lists of the system call the memory. */
  readonly memoryName: string;
  readonly queueSize: number;
  /** Of what each side writes: at first, and in which steps it grows. */
  readonly initialBytes: number;
  readonly growthBytes: number;
  /** On how many cores of the process threads may spin. */
  readonly cores: number;
  /** Whether the memory is a file although the system has memory without one. */
  readonly inFile: boolean;
}

/** The channel of an instance of a Python model; see `native/binding/python_wrap.h`. */
export interface NativePython {
  /** Of the memory, for the process; -1: it was closed. */
  descriptor(): number;
  /** Of the memory of the version's inputs. */
  inputsDescriptor(): number;
  closeDescriptor(): void;
  /**
   * Begins.
   *
   * @param onBroken - Called once when the process has sent what cannot be.
   * @returns False: there is no thread for it. Undefined: the instance is closed.
   */
  start(onBroken: (reason: string) => void): boolean | undefined;
  /** The process takes batches. */
  up(): void;
  /** Asks the process to finalize and to end. */
  askToEnd(): void;
  /** Asks the process whether its model is ready, which it answers over its socket. */
  askReady(): void;
  /** The process is gone: what it has not answered fails. */
  stop(): void;
}

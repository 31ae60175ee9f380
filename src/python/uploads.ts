/**
 * Collects the files that a model sends for a load. They come in parts before the question, so that no turn of the
 * event loop decodes many bytes.
 */

import { invalidArgument, unavailable, type TritonError } from '../errors.js';

/** The most bytes of a question's files. */
const mostBytes = 2 ** 31;
/** The most files of a question. */
const mostFiles = 16_384;

/** The files of the next question of one process. */
export class Uploads {
  #files: Map<string, Buffer> = new Map();
  #current: Buffer | undefined;
  #written = 0;
  #bytes = 0;
  #fault: TritonError | undefined;

  /** Begins a file. */
  begin(name: string, bytes: number): void {
    this.#checkWhole();
    if (this.#fault !== undefined) return;
    this.#bytes += bytes;
    if (
      !Number.isSafeInteger(bytes) ||
      bytes < 0 ||
      this.#bytes > mostBytes ||
      this.#files.size >= mostFiles
    ) {
      this.#fail(invalidArgument(`files: expected at most ${mostBytes} bytes in at most ${mostFiles} files`));
      return;
    }
    try {
      this.#current = Buffer.allocUnsafeSlow(bytes);
      this.#written = 0;
      this.#files.set(name, this.#current);
    } catch (cause) {
      this.#fail(unavailable('NO_MEMORY', `file '${name}': no memory for ${bytes} bytes`, { cause }));
    }
  }

  /** The next part of the file, in base64. */
  add(part: string): void {
    if (this.#current === undefined) return;
    this.#written += this.#current.write(part, this.#written, 'base64');
  }

  /**
   * The files that were sent since the last question.
   *
   * @throws {@link TritonError} INVALID_ARG for too many files or bytes, UNAVAILABLE without memory for them.
   */
  take(): Readonly<Record<string, Uint8Array>> | undefined {
    this.#checkWhole();
    const files = this.#files;
    const fault = this.#fault;
    this.#files = new Map();
    this.#current = this.#fault = undefined;
    this.#bytes = 0;
    if (fault !== undefined) throw fault;
    return files.size === 0 ? undefined : Object.fromEntries(files);
  }

  /** Refuses a file that is not complete, so that uninitialized memory is never read. */
  #checkWhole(): void {
    if (this.#current !== undefined && this.#written < this.#current.length) {
      this.#fail(invalidArgument('files: the process sent fewer bytes of a file than it announced'));
    }
    this.#current = undefined;
  }

  #fail(fault: TritonError): void {
    this.#fault ??= fault;
    this.#files = new Map();
    this.#current = undefined;
  }
}

/** An endpoint that listens, or a thread of several. */
export interface Endpoint {
  close(timeoutMs: number): Promise<void>;
}

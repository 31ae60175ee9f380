/** A listening endpoint, or a thread that has several. */
export interface Endpoint {
  close(timeoutMs: number): Promise<void>;
}

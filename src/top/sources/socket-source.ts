/** Reads a server of another process through the socket of `serveTop`. */

import { unavailable } from '../../errors.js';
import { topRequestPath, type TopAnswer } from '../../metrics/serve-top.js';
import { thrownText } from '../../thrown-text.js';
import { versionKey, type Reading, type TopSource } from '../reading.js';
import { fetchedText } from './fetched-text.js';
import { wholeIndex, wholeStatistics } from './whole-entries.js';

/** See the head of this file. */
export class SocketSource implements TopSource {
  readonly place: string;
  readonly #timeoutMs: number;

  /** @param path - Of a Unix socket or a named pipe. */
  constructor(path: string, timeoutMs: number) {
    this.place = path;
    this.#timeoutMs = timeoutMs;
  }

  async read(signal: AbortSignal): Promise<Reading> {
    const text = await fetchedText(
      { socket: this.place, path: topRequestPath },
      this.place,
      this.#timeoutMs,
      signal,
    );
    try {
      const { atMs, server, ready, index, statistics, metrics, instances } = JSON.parse(text) as TopAnswer;
      return {
        atMs,
        server: { name: server.name, version: server.version },
        ready,
        index: wholeIndex(index),
        statistics: wholeStatistics(statistics),
        metrics,
        instances: new Map(
          instances.map(([name, version, count]): [string, number] => [versionKey(name, version), count]),
        ),
      };
    } catch (cause) {
      throw unavailable('NO_CONNECTION', `${this.place} is not a socket of serveTop: ${thrownText(cause)}`, {
        cause,
      });
    }
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

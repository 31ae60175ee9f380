/** The answer to a scrape. */

import { thrownText } from '../thrown-text.js';

/** A source of metrics, such as an `InferenceServer`. */
export interface MetricsSource {
  /** Prometheus' text format, version 0.0.4. */
  metrics(): string;
  /** The same text, made in slices of the event loop; preferred if present. */
  scrape?(): Promise<string>;
}

/** The content type that Prometheus expects. */
export const contentType = 'text/plain; version=0.0.4; charset=utf-8';

/** The status and the text. It does not reject: of a server that is closed the status is 503. */
export async function scrapeText(server: MetricsSource): Promise<[number, string]> {
  try {
    return [200, server.scrape === undefined ? server.metrics() : await server.scrape()];
  } catch (error) {
    return [503, `${thrownText(error)}\n`];
  }
}

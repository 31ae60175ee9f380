/** Gets a text over HTTP, from a URL or through a socket of this machine. */

import { request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { unavailable } from '../../errors.js';

/** Where the text is. */
export type TextPlace = { readonly url: URL } | { readonly socket: string; readonly path: string };

/** A longer answer is refused, in bytes. */
export const mostBytes: number = 64 << 20;

function optionsOf(place: TextPlace): RequestOptions {
  if ('socket' in place) return { socketPath: place.socket, path: place.path };
  const { protocol, hostname, port, pathname, search, username, password } = place.url;
  return {
    protocol,
    hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
    port,
    path: `${pathname}${search}`,
    ...(username !== '' && { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` }),
  };
}

/**
 * Gets a text.
 *
 * @param shown - The place, for errors.
 * @param timeoutMs - How long the whole answer may take.
 * @throws {@link TritonError} UNAVAILABLE without an answer of status 200.
 */
export function fetchedText(
  place: TextPlace,
  shown: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string, cause?: unknown): void => {
      clearTimeout(timer);
      reject(unavailable('NO_CONNECTION', `no answer from ${shown}: ${why}`, { cause }));
      sent.destroy();
    };
    const timer = setTimeout(() => {
      fail(`it took longer than ${timeoutMs} ms`);
    }, timeoutMs);
    const send = 'url' in place && place.url.protocol === 'https:' ? httpsRequest : httpRequest;
    const sent = send({ ...optionsOf(place), method: 'GET', agent: false, signal }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > mostBytes) fail(`the answer has more than ${mostBytes} bytes`);
        else chunks.push(chunk);
      });
      response.on('error', (error) => {
        fail(error.message, error);
      });
      response.on('end', () => {
        if (response.statusCode !== 200) {
          fail(`status ${response.statusCode ?? 0}`);
          return;
        }
        clearTimeout(timer);
        resolve(Buffer.concat(chunks).toString('utf8'));
      });
    });
    sent.on('error', (error: NodeJS.ErrnoException) => {
      fail(error.message === '' ? (error.code ?? 'the connection failed') : error.message, error);
    });
    sent.end();
  });
}

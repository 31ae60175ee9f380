/** A request over HTTP as bytes, made before it is sent. */

import type { RequestSequence } from '../../../api/request-sequence.js';
import { writeRequest } from '../../../client/http/infer-message.js';
import type { WireRequest } from '../../../client/protocol.js';
import { sequenceParameters } from '../../../client/remote-version.js';

/** Makes the bytes of requests to one address. */
export class RequestBytes {
  readonly #start: string;

  /**
   * @param url - The server's address.
   * @param path - The path of the call, below that of the address.
   * @param headers - Further headers; they are checked.
   */
  constructor(url: URL, path: string, headers: Readonly<Record<string, string>>) {
    const { username, password, host, pathname } = url;
    const secret = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString(
      'base64',
    );
    const own = {
      Host: host,
      ...(username !== '' && { Authorization: `Basic ${secret}` }),
      'Content-Type': 'application/octet-stream',
    };
    // Names differ in case, and each stands once.
    const byName = new Map<string, readonly [name: string, value: string]>();
    for (const line of [...Object.entries(own), ...Object.entries(headers)])
      byName.set(line[0].toLowerCase(), line);
    const lines = [...byName.values()];
    const target = `${pathname.replace(/\/$/, '')}${path}`;
    this.#start = `POST ${target} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}`;
  }

  /** The bytes of a request. */
  of(request: WireRequest, sequence?: RequestSequence): Buffer {
    const parameters =
      sequence === undefined ? request.parameters : [...request.parameters, ...sequenceParameters(sequence)];
    const [json, ...blobs] = writeRequest({ ...request, parameters });
    const length = blobs.reduce((sum, blob) => sum + blob.byteLength, json.byteLength);
    const head = `${this.#start}Inference-Header-Content-Length: ${json.byteLength}\r\nContent-Length: ${length}\r\n\r\n`;
    return Buffer.concat([Buffer.from(head, 'latin1'), json, ...blobs]);
  }
}

/**
 * Sends requests over HTTP with as little work as possible: their bytes are made beforehand, and the bodies of answers are
 * not read, but for the first one and errors. Each request under way has its own connection, as HTTP/1.1 demands.
 */

import { Broken } from '../../../client/failures.js';
import { refusalOf } from '../../../client/http/connection.js';
import { readAnswer } from '../../../client/http/infer-message.js';
import { storedOutputs, type WireRequest } from '../../../client/protocol.js';
import { RemoteVersion } from '../../../client/remote-version.js';
import type { ModelConfig } from '../../../config/index.js';
import type { ModelMetadata } from '../../../api/metadata.js';
import type { Step } from '../../inputs/step.js';
import type { Flight } from '../../load/flight.js';
import type { Target } from '../target.js';
import { Connection, type ConnectionOwner } from './connection.js';
import { RequestBytes } from './request-bytes.js';
import type { Response } from './response-reader.js';

/** How many connections may be open: each takes a file descriptor here and in the server. */
const mostConnections = 4096;

/** Bytes of requests that are made beforehand. Those of further steps are made when they are sent. */
const mostPreparedBytes = 128 << 20;

/** What is needed of the model. */
export interface HttpModel {
  readonly metadata: ModelMetadata;
  readonly config: ModelConfig | undefined;
  readonly version: string | undefined;
}

/** See the head of this file. */
export class HttpTarget implements Target, ConnectionOwner {
  readonly mostAtOnce: number = mostConnections;
  readonly #url: URL;
  readonly #model: HttpModel;
  readonly #parameters: Readonly<Record<string, string | number | bigint | boolean>>;
  readonly #bytes: RequestBytes;
  readonly #idle: Connection[] = [];
  readonly #all: Set<Connection> = new Set();
  /** By the step's index, as far as they are prepared. With sequences the bytes are made for each request. */
  #requests: WireRequest[] = [];
  #prepared: Buffer[] = [];
  #request: (step: Step) => WireRequest = () => {
    throw new RangeError('prepare was not called');
  };
  /** A response that no request asked for came on an idle connection. */
  #fault: Error | undefined;
  /** Whether an answer was read completely. */
  #understood = false;

  constructor(
    url: URL,
    model: HttpModel,
    headers: Readonly<Record<string, string>>,
    parameters: Readonly<Record<string, string | number | bigint | boolean>>,
  ) {
    this.#url = url;
    this.#model = model;
    this.#parameters = parameters;
    const { name } = model.metadata;
    const pinned = model.version === undefined ? '' : `/versions/${model.version}`;
    this.#bytes = new RequestBytes(url, `/v2/models/${encodeURIComponent(name)}${pinned}/infer`, headers);
  }

  prepare(steps: readonly Step[]): void {
    const { metadata, config } = this.#model;
    const version = new RemoteVersion(metadata.name, metadata, config);
    const outputs = metadata.outputs.map(({ name }) => name);
    this.#request = ({ inputs, into }) =>
      version.check(inputs, { parameters: this.#parameters, outputs, into });
    let room = mostPreparedBytes;
    for (const step of steps) {
      // All are checked, also those that are not kept.
      const request = this.#request(step);
      if (room <= 0) continue;
      const bytes = this.#bytes.of(request);
      room -= bytes.byteLength;
      if (room < 0) continue;
      this.#requests[step.index] = request;
      this.#prepared[step.index] = bytes;
    }
  }

  send(flight: Flight): void {
    const fault = this.#fault;
    if (fault !== undefined) {
      this.#fault = undefined;
      setImmediate(() => {
        flight.land(fault);
      });
      return;
    }
    this.#sendOn(this.#idleConnection() ?? this.#open(), flight);
  }

  close(): Promise<void> {
    for (const connection of this.#all) connection.destroy();
    this.#all.clear();
    return Promise.resolve();
  }

  answered(connection: Connection, flight: Flight, { status, headers, body }: Response): void {
    if (connection.usable) this.#idle.push(connection);
    else this.#all.delete(connection);
    if (status !== 200) {
      const asked = Object.fromEntries(headers);
      flight.land(
        refusalOf(status, asked, body, this.#model.metadata.name, `POST ${this.#url.origin}`).error,
      );
      return;
    }
    if (!this.#understood) {
      try {
        const size = headers.get('inference-header-content-length');
        readAnswer(
          this.#model.metadata.name,
          new Uint8Array(body),
          size === undefined ? undefined : Number(size),
          storedOutputs(this.#requestOf(flight.step)),
        );
        // Others that were sent before now have their bodies kept, and not read.
        this.#understood = true;
      } catch (error) {
        flight.land(error);
        return;
      }
    }
    flight.land();
  }

  broke(connection: Connection, flight: Flight | undefined, error: Error, untouched: boolean): void {
    this.#all.delete(connection);
    if (flight === undefined) {
      if (!(error instanceof Broken)) this.#fault = error;
      return;
    }
    // Servers close connections that were idle for some time, perhaps just as a request is sent.
    if (untouched && flight.sequence === undefined) this.#sendOn(this.#open(), flight);
    else flight.land(error);
  }

  #requestOf(step: Step): WireRequest {
    return this.#requests[step.index] ?? this.#request(step);
  }

  #idleConnection(): Connection | undefined {
    for (let connection = this.#idle.pop(); connection !== undefined; connection = this.#idle.pop()) {
      if (connection.usable) return connection;
      this.#all.delete(connection);
    }
    return undefined;
  }

  #open(): Connection {
    const connection = new Connection(this, this.#url, this.#model.metadata.name);
    this.#all.add(connection);
    return connection;
  }

  #sendOn(connection: Connection, flight: Flight): void {
    const { step, sequence } = flight;
    const prepared = sequence === undefined ? this.#prepared[step.index] : undefined;
    const bytes = prepared ?? this.#bytes.of(this.#requestOf(step), sequence);
    connection.send(flight, bytes, !this.#understood);
  }
}

/** Reads the bodies of calls that control the repository, the log and traces. Every body may be empty. */

import { invalidArgument } from '../../errors.js';
import { readLogChanges, type LogChanges } from '../service/log-settings.js';
import type { LoadRequest } from '../service/load-request.js';
import { readTraceChanges, type GivenSetting, type TraceChanges } from '../service/trace-settings.js';
import { JsonText, member, readArray, readFlag, readObject, readString, type JsonObject } from './json.js';

function readRoot(body: Buffer): JsonObject {
  return body.length === 0 ? {} : readObject('request', new JsonText(body).parse());
}

/**
 * Reads `{ ready }`.
 *
 * @throws {@link TritonError} INVALID_ARG for a body that is not such JSON.
 */
export function readIndexRequest(body: Buffer): boolean {
  const ready = member(readRoot(body), 'ready');
  return ready !== undefined && readFlag('ready', ready);
}

const filePrefix = 'file:';

/**
 * Reads `{ parameters: { config, 'file:<path>', force } }`. `force` is not Triton's.
 *
 * @throws {@link TritonError} INVALID_ARG for a body that is not such JSON, for other parameters, and for files
 *   that are not base64.
 */
export function readLoadRequest(body: Buffer): LoadRequest {
  const given = member(readRoot(body), 'parameters');
  const files = new Map<string, Uint8Array>();
  let config: string | undefined;
  let force = false;
  for (const [name, value] of Object.entries(given === undefined ? {} : readObject('parameters', given))) {
    if (value === null && (name === 'config' || name === 'force')) continue; // Not given.
    if (name === 'config') config = readString('parameters.config', value);
    else if (name === 'force') force = readFlag('parameters.force', value);
    else if (name.startsWith(filePrefix)) {
      const text = readString(`parameters.${name}`, value);
      if (/[^A-Za-z0-9+/=\s]/.test(text) || /=\s*[^=\s]/.test(text))
        throw invalidArgument(`parameter '${name}' is not base64`);
      files.set(name.slice(filePrefix.length), Buffer.from(text, 'base64'));
    } else {
      throw invalidArgument(
        `unexpected error on creating Triton parameter: '${name}' is neither 'config', 'file:<path>' nor 'force'`,
      );
    }
  }
  return { config, files, force };
}

/** Reads `{ parameters: { unload_dependents } }`. As in Triton, an invalid body counts as an empty one. */
export function readUnloadRequest(body: Buffer): boolean {
  try {
    const given = member(readRoot(body), 'parameters');
    const asked =
      given === undefined ? undefined : member(readObject('parameters', given), 'unload_dependents');
    return asked !== undefined && readFlag('unload_dependents', asked);
  } catch {
    return false;
  }
}

/**
 * Reads changes of the log's settings.
 *
 * @throws {@link TritonError} As {@link readLogChanges}; INVALID_ARG for a body that is not JSON.
 */
export function readLogRequest(body: Buffer): LogChanges {
  return readLogChanges(Object.entries(readRoot(body)));
}

/** The settings whose value is one text. */
const traceTexts: readonly string[] = ['trace_rate', 'trace_count', 'log_frequency'];

/**
 * Reads changes of trace settings. As in Triton, null clears a setting, and unknown names are ignored.
 *
 * @throws {@link TritonError} As {@link readTraceChanges}; INVALID_ARG for a body that is not JSON, and for values that
 *   are no strings.
 */
export function readTraceRequest(body: Buffer): TraceChanges {
  const given = Object.entries(readRoot(body)).map(([name, value]): GivenSetting => {
    if (value === null) return [name, null];
    if (traceTexts.includes(name)) return [name, [readString(name, value)]];
    if (name !== 'trace_level') return [name, []];
    return [name, readArray(name, value).map((one, i) => readString(`${name}[${i}]`, one))];
  });
  return readTraceChanges(given);
}

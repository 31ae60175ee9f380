/** Tells faults of stores apart by what all vendors' clients have in common: the codes of Node, and those of HTTP. */

import { thrownText } from '../../../thrown-text.js';
import type { StoreFault } from './object-store.js';

/** Codes of Node for what may pass. A host that is not known is no such thing. */
const passingCodes: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'ECONNABORTED',
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_SOCKET_CONNECTION_TIMEOUT',
  'UND_ERR_SOCKET',
]);

/** Thrown here for what the same call may have overcome by the next time: a body that ended early, say. */
export class PassingFault extends Error {}

/** What is known of a failed call. */
export interface FailedCall {
  /** Of the answer; undefined if there was none. */
  readonly status: number | undefined;
  /** The store's own code, such as `SlowDown`. */
  readonly code: string;
}

/** Codes of stores for what may pass, whatever the status. */
const passingWords =
  /^(?:SlowDown|ServerBusy|InternalError|ServiceUnavailable|RequestTimeout|Throttl\w*|TooManyRequests)/;

/** The fault of a failed call. */
export function faultOfCall(error: unknown, { status, code }: FailedCall): StoreFault {
  const text = [status === undefined ? '' : `HTTP ${status}`, code, messageOf(error)]
    .filter((part) => part !== '')
    .join(', ');
  return { kind: kindOf(error, status, code), text };
}

function kindOf(error: unknown, status: number | undefined, code: string): StoreFault['kind'] {
  if (error instanceof PassingFault || passingWords.test(code)) return 'passing';
  if (status === 412 || code === 'NoSuchKey' || code === 'BlobNotFound') return 'changed';
  if (status === 408 || status === 429 || (status !== undefined && status >= 500)) return 'passing';
  if (status !== undefined && (status === 301 || (status >= 400 && status <= 404))) return 'refused';
  if (status === undefined && codesOf(error).some((one) => passingCodes.has(one))) return 'passing';
  return 'lasting';
}

/** The codes of an error and of what caused it: clients wrap those of sockets. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 4; at = at.cause, depth++) {
    if ('code' in at && typeof at.code === 'string') codes.push(at.code);
    codes.push(at.name);
    if (at.message === 'aborted' || at.message === 'socket hang up' || at.message === 'terminated')
      codes.push('ECONNRESET');
    if (at instanceof AggregateError) codes.push(...at.errors.flatMap((one) => codesOf(one)));
  }
  return codes;
}

/** The first line of an error's text, since clients add whole answers. */
function messageOf(error: unknown): string {
  const text =
    error instanceof AggregateError && error.message === '' ? thrownText(error.errors[0]) : thrownText(error);
  return (text.split('\n', 1)[0] ?? '').slice(0, 300);
}

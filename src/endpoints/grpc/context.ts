/** The parts of an endpoint that its calls use. */

import type { IncomingHttpHeaders } from 'node:http2';
import type { Parameters } from '../../protocol/parameters.js';
import type { InferenceService } from '../service/service.js';

/** See the head of this file. */
export interface CallContext {
  readonly service: InferenceService;
  /** Returns the parameters with the forwarded headers added. */
  withHeaders(headers: IncomingHttpHeaders, parameters: Parameters): Parameters;
}

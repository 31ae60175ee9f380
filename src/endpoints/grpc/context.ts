/** What calls have besides themselves. */

import type { IncomingHttpHeaders } from 'node:http2';
import type { Parameters } from '../../protocol/parameters.js';
import type { InferenceService } from '../service/service.js';

/** See the head of this file. */
export interface CallContext {
  readonly service: InferenceService;
  /** The parameters, and those headers that are forwarded. */
  withHeaders(headers: IncomingHttpHeaders, parameters: Parameters): Parameters;
}

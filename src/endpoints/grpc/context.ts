/** The parts of an endpoint that its calls use. */

import type { CallHeaders } from './http2/request-headers.js';
import type { Parameters } from '../../protocol/parameters.js';
import type { InferenceService } from '../service/service.js';

/** See the head of this file. */
export interface CallContext {
  readonly service: InferenceService;
  /** Returns the parameters with the forwarded headers added. */
  withHeaders(headers: CallHeaders, parameters: Parameters): Parameters;
}

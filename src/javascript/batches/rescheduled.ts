/** Requests of iterative models that are to be run again. */

import type { Rescheduled } from '../../api/model-request.js';

/** A result that stands for "run this request again". */
export class Again implements Rescheduled {
  readonly request: object;

  constructor(request: object) {
    this.request = request;
  }
}

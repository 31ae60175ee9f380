/** What a test decides about a model's requests, as the engine asks it. */

import type { NativeVersionConfig } from '../../addon/native/version-config.js';
import type { EngineRequest } from './request.js';

/** A batch that the test forms by hand. */
export interface HandBatch {
  /** How many requests it has. */
  readonly count: number;
  /** Called when its requests have ended. */
  done(): void;
  /** Called if the server would never form it. */
  refuse(why: string): void;
}

/** See the head of this file. All versions of a model share one. */
export interface Stage {
  /** Whether requests wait until the test lets them go. */
  readonly isHeld: boolean;
  /** The batches that the test forms, the next one first. */
  readonly byHand: HandBatch[];
  /** Called when the test has changed its mind. */
  onChange: () => void;
  /** A request has come. It may get a fault and notes here. */
  arrived(request: EngineRequest, version: number, config: NativeVersionConfig): void;
  /** Calls a function when the time has passed that the next batch is to take; at once, if it is to take none. */
  delay(go: () => void): void;
}

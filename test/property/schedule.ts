/** Random schedules: a model's configuration, and what its callers do at which time. */

import fc from '../support/fast-check.js';
import type { FaultName } from '../faults/harness.js';
import { ownEnd, thrownEnd, type Policy } from './batcher.js';

/** A random request. */
export interface Draft {
  /** The connection that sends it. */
  readonly port: number;
  /** Its rows, which are sometimes one more than max_batch_size. */
  readonly rows: number;
  readonly shape: string;
  readonly fault: FaultName;
  /** Whether its caller aborts it. */
  readonly aborted: boolean;
}

/** A schedule with determined batches: they form while every instance is held, and when all are idle. */
export interface HeldSchedule {
  readonly policy: Policy;
  readonly instances: number;
  /** The requests that are sent while the instances are held, by turn of the event loop. */
  readonly held: readonly (readonly Draft[])[];
  /** Whether port 1 is closed while its requests wait. */
  readonly closes: boolean;
  /**
   * The requests that are sent when the instances are idle. Each turn is answered, if it runs, before the
   * next one.
   */
  readonly idle: readonly (readonly Draft[])[];
}

/** A step of a free schedule. */
export type Step =
  | { readonly do: 'send'; readonly requests: readonly Draft[] }
  | { readonly do: 'turns'; readonly count: number }
  /** Aborts the requests so far that are to be aborted. */
  | { readonly do: 'abort' }
  /** Closes a connection, and makes it again. */
  | { readonly do: 'close'; readonly port: number; readonly timeoutMs: number }
  /** Waits for all answers. */
  | { readonly do: 'settle' };

/** A schedule whose batches depend on chance. */
export interface FreeSchedule {
  readonly policy: Omit<Policy, 'delay'> & { readonly delayUs: number };
  readonly instances: number;
  /** Which runs may be on the callers' thread. */
  readonly inline: 'off' | 'auto' | '10000';
  readonly steps: readonly Step[];
}

/** Widths of the two variable inputs. */
export const shapes: fc.Arbitrary<string> = fc.constantFrom('1x1', '1x1', '1x1', '2x1', '1x2', '3x5');

const sizes = fc.integer({ min: 1, max: 16 }).chain((maxBatchSize) =>
  fc.record({
    maxBatchSize: fc.constant(maxBatchSize),
    preferred: fc.option(fc.uniqueArray(fc.integer({ min: 1, max: maxBatchSize }), { maxLength: 3 }), {
      nil: undefined,
      freq: 8,
    }),
  }),
);

/** Any policy of a batcher. */
export const anyPolicy: fc.Arbitrary<Policy> = fc
  .tuple(sizes, fc.constantFrom('none', 'endless', 'over'), fc.boolean())
  .map(([policy, delay, acrossShapes]) => ({
    ...policy,
    delay: policy.preferred ? delay : 'none',
    acrossShapes,
  }));

const faults = fc.oneof(
  { weight: 6, arbitrary: fc.constant<FaultName>('none') },
  {
    weight: 1,
    // The tables have the names of faults as keys.
    arbitrary: fc.constantFrom(
      ...([...Object.keys(ownEnd), ...Object.keys(thrownEnd)] as FaultName[]),
      'never_answers' as const,
      'answers_late' as const,
      'slow' as const,
    ),
  },
);

function anyDraft(maxBatchSize: number, ports: number): fc.Arbitrary<Draft> {
  return fc.record({
    port: fc.nat(ports - 1),
    rows: fc.oneof(
      { weight: 3, arbitrary: fc.integer({ min: 1, max: Math.min(3, maxBatchSize) }) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: maxBatchSize + 1 }) },
    ),
    shape: shapes,
    fault: faults,
    aborted: fc.boolean().chain((maybe) => (maybe ? fc.boolean() : fc.constant(false))),
  });
}

/** Any schedule of the determined kind. */
export const heldSchedule: fc.Arbitrary<HeldSchedule> = anyPolicy.chain((policy) => {
  const turn = (ports: number): fc.Arbitrary<Draft[]> =>
    fc.array(anyDraft(policy.maxBatchSize, ports), { maxLength: 12 });
  return fc.record({
    policy: fc.constant(policy),
    instances: fc.integer({ min: 1, max: 3 }),
    held: fc.array(turn(2), { maxLength: 4 }),
    closes: fc.boolean(),
    // After a delay it is random which requests an idle instance gets.
    idle: policy.delay === 'over' ? fc.constant([]) : fc.array(turn(1), { maxLength: 3 }),
  });
});

/** Any schedule of the other kind. */
export const freeSchedule: fc.Arbitrary<FreeSchedule> = sizes.chain((policy) =>
  fc.record({
    policy: fc
      .tuple(fc.constantFrom(0, 0, 100, 2000), fc.boolean())
      .map(([delayUs, acrossShapes]) => ({ ...policy, delayUs, acrossShapes })),
    instances: fc.integer({ min: 1, max: 3 }),
    inline: fc.constantFrom('off', 'auto', '10000'),
    steps: fc.array(
      fc.oneof(
        {
          weight: 6,
          arbitrary: fc.record({
            do: fc.constant('send' as const),
            requests: fc.array(anyDraft(policy.maxBatchSize, 3), { minLength: 1, maxLength: 40 }),
          }),
        },
        {
          weight: 3,
          arbitrary: fc.record({ do: fc.constant('turns' as const), count: fc.integer({ min: 1, max: 4 }) }),
        },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('abort' as const) }) },
        { weight: 1, arbitrary: fc.record({ do: fc.constant('settle' as const) }) },
        {
          weight: 1,
          arbitrary: fc.record({
            do: fc.constant('close' as const),
            port: fc.integer({ min: 1, max: 2 }),
            timeoutMs: fc.constantFrom(0, 1, 30_000),
          }),
        },
      ),
      { maxLength: 16 },
    ),
  }),
);

/** Decides whether tritonts or the runtime is at fault if a case does not pass. */
import { join } from 'node:path';
import { runBare, type BareOutcome } from './bare.js';
import { differences } from './compare.js';
import type { Case, Outcome, Verdict } from './outcome.js';
import { shortReason } from './reasons.js';
import { byName, caseTensors, type Failure } from './served.js';

/** A case that did not pass. */
export interface Failed {
  readonly one: Case;
  readonly failure: Failure;
}

/** The bare runtime's program and library. */
export interface BareRuntime {
  /** Path of the program in native/. */
  readonly program: string;
  /** Path of the runtime's library. */
  readonly library: string;
}

/**
 * Loads that are refused although the runtime would accept them, because Triton's rules are kept on purpose.
 */
const refusals: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/dims: expected dims of 1 or more/, 'the runtime works out a dimension to be 0: Triton has no dims of 0'],
];

type Judgement = readonly [verdict: Verdict, reason: string, detail: string];

async function judge({ one, failure }: Failed, folder: string, bare: BareOutcome): Promise<Judgement> {
  if (failure.step === 'load') {
    const refusal = refusals.find(([pattern]) => pattern.test(failure.reason));
    if (refusal) return ['skipped', refusal[1], failure.reason];
  }
  if (bare.failed !== undefined) return ['runtime', shortReason(bare.reason), bare.reason];
  const values = await caseTensors(folder, 'bare.bin');
  const difference = differences(await caseTensors(folder, 'outputs.bin'), byName(values), one);
  if (failure.step !== 'compare' || difference === undefined) return ['ours', failure.reason, failure.reason];
  const apart = differences(values, failure.outputs, one);
  return apart === undefined
    ? ['runtime', 'other values than expected', difference]
    : ['ours', 'other values than the bare runtime gives', apart];
}

/**
 * Asks the bare runtime about cases that did not pass.
 *
 * @param cases - Folder with a repository for each kind of case.
 * @returns One outcome a case, in their order.
 */
export async function judgeAll(
  cases: string,
  failed: readonly Failed[],
  { program, library }: BareRuntime,
): Promise<Outcome[]> {
  const folders = failed.map(({ one }) => join(cases, one.kind, one.name));
  const bare = await runBare(program, library, folders);
  return Promise.all(
    failed.map(async (entry, i) => {
      const [verdict, reason, detail] = await judge(entry, folders[i] ?? '', bare[i] ?? {});
      return { kind: entry.one.kind, name: entry.one.name, verdict, reason, detail };
    }),
  );
}

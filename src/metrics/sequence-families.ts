/** The families of sequences, of models with `sequence_batching`. */

import type { NativeSequences } from '../addon/native/statistics.js';
import { labelsAround, labelText, type Exposition, type Labels } from './exposition.js';

const sequenceFamilies: readonly (readonly [
  name: string,
  kind: 'counter' | 'gauge',
  help: string,
  key: keyof NativeSequences,
])[] = [
  ['tritonts_sequence_slots', 'gauge', 'Sequences that can be under way at a time', 'slots'],
  ['tritonts_sequence_live', 'gauge', 'Sequences that have a slot', 'live'],
  ['tritonts_sequence_idle', 'gauge', 'Sequences that have a slot and no request', 'idle'],
  ['tritonts_sequence_backlog', 'gauge', 'Sequences that wait for a slot', 'backlog'],
  ['tritonts_sequence_state_bytes', 'gauge', 'Memory of the states of sequences', 'stateBytes'],
  ['tritonts_sequence_begun', 'counter', 'Sequences that began', 'begun'],
];
/** Why sequences ended before their last request. */
const sequenceEnds = ['idled', 'expired', 'cancelled', 'broken'] as const;
const sequenceEndFamily = 'tritonts_sequence_ended_early';

/** Declares the families. Those without a series are left out of the text. */
export function declareSequences(text: Exposition): void {
  for (const [name, kind, help] of sequenceFamilies) text.family(name, kind, help);
  text.family(sequenceEndFamily, 'counter', 'Sequences that ended without a request with END, by reason');
}

/** Adds the series of a version. */
export function addSequences(text: Exposition, sequences: NativeSequences, labels: Labels): void {
  const plain = labelText(labels);
  for (const [name, , , key] of sequenceFamilies) text.add(name, plain, sequences[key]);
  const because = labelsAround(labels, 'reason');
  for (const reason of sequenceEnds) text.add(sequenceEndFamily, because(reason), sequences[reason]);
}

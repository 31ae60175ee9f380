/** Colours of a terminal. */

import type { Tone } from './columns.js';

/** Writes text in a style. */
export interface Paint {
  tone(text: string, tone: Tone): string;
  bold(text: string): string;
  /** The line of titles. */
  titles(text: string): string;
  pale(text: string): string;
  bad(text: string): string;
}

const same = (text: string): string => text;

/** Text without any style. */
export const unpainted: Paint = { tone: same, bold: same, titles: same, pale: same, bad: same };

const styled =
  (on: number) =>
  (text: string): string =>
    text === '' ? '' : `\u001b[${on}m${text}\u001b[0m`;

const tones: Readonly<Record<Tone, (text: string) => string>> = {
  plain: same,
  good: styled(32),
  bad: styled(31),
  pale: styled(2),
};

/** The colours that all terminals have. */
export const painted: Paint = {
  tone: (text, tone) => tones[tone](text),
  bold: styled(1),
  titles: styled(7),
  pale: styled(2),
  bad: styled(31),
};

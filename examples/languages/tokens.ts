/** Turns text into the model's ids: a hash of every run of two, three and four characters. */

/** Number of ids. Id 0 fills texts up, and the model ignores it. */
export const vocabularySize = 4096;

/** Lengths of the runs of characters that become ids. */
const runLengths: readonly number[] = [2, 3, 4];

/**
 * Ids are filled up to a multiple of this. Texts of similar length then have the same shape and can share a
 * batch.
 */
const padTo = 64;

/**
 * The ids of a text: 1 to 4,095 for each run of two, three and four characters of its words, followed by
 * zeros up to a multiple of 64. The edge of a word counts as a space.
 */
export function toIds(text: string): BigInt64Array<ArrayBuffer> {
  const words =
    text
      .normalize('NFC')
      .toLowerCase()
      .match(/\p{L}+/gu) ?? [];
  const letters = ` ${words.join(' ')} `;
  const runs = runLengths.flatMap((length) =>
    Array.from({ length: Math.max(0, letters.length - length + 1) }, (_, i) => letters.slice(i, i + length)),
  );
  const ids = new BigInt64Array(Math.ceil(runs.length / padTo) * padTo);
  for (const [i, run] of runs.entries()) ids[i] = BigInt(1 + (hash(run) % (vocabularySize - 1)));
  return ids;
}

/** FNV-1a over UTF-16 code units. */
function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  return value >>> 0;
}

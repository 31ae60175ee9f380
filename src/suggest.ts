/** Finds the name that a misspelt name was probably meant to be. */

/** Longer words are not compared: all known names are much shorter. */
const longestWord = 80;

/**
 * The candidate closest to a misspelt word, if it is close enough: at most a third of its letters are wrong,
 * left out, added or swapped with their neighbour. Upper and lower case count as equal, and so do `-` and `_`.
 *
 * @param word - The misspelt word.
 * @param candidates - The known names. Of equally close candidates the first wins.
 *
 * @example
 * suggest('max_batchsize', ['max_batch_size', 'metric_tags']); // 'max_batch_size'
 */
export function suggest(word: string, candidates: Iterable<string>): string | undefined {
  if (word.length > longestWord) return undefined;
  const written = simplify(word);
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    if (candidate.length > longestWord) continue;
    const meant = simplify(candidate);
    const allowed = Math.max(1, Math.floor(Math.max(written.length, meant.length) / 3));
    if (Math.abs(written.length - meant.length) > allowed) continue;
    const distance = editDistance(written, meant);
    if (distance <= allowed && distance < bestDistance && distance < meant.length) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** The shortest beginning of a name that suggests it. */
const shortestBeginning = 4;
/** A beginning that more names have suggests none of them. */
const mostBegun = 3;

/** The end of a message about a misspelt or shortened word: ` (did you mean …?)`, or nothing. */
export function didYouMean(word: string, candidates: Iterable<string>): string {
  const all = [...candidates];
  const meant = suggest(word, all);
  const written = simplify(word);
  const longer = all.filter((name) => simplify(name).startsWith(written));
  const begun = written.replace(/^_+/, '').length >= shortestBeginning && longer.length <= mostBegun;
  if (begun && longer.length > 0 && (meant === undefined || longer.includes(meant)))
    return ` (did you mean ${longer.join(' or ')}?)`;
  return meant === undefined ? '' : ` (did you mean ${meant}?)`;
}

function simplify(word: string): string {
  return word.toLowerCase().replaceAll('-', '_');
}

/** Damerau-Levenshtein distance in its restricted form: no substring is edited twice. */
function editDistance(a: string, b: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const differs = a[row - 1] !== b[column - 1];
      let cost = Math.min(
        (previous[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (previous[column - 1] ?? 0) + (differs ? 1 : 0),
      );
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]) {
        cost = Math.min(cost, (before[column - 2] ?? 0) + 1);
      }
      current.push(cost);
    }
    before = previous;
    previous = current;
  }
  return previous[b.length] ?? 0;
}

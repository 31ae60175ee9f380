/** Learns the pieces of words that texts are made of, and writes them as a tokenizer of the `tokenizers` format. */

/** Pieces with a meaning of their own, in the order of their ids. */
export const specialTokens = ['[PAD]', '[UNK]', '[CLS]', '[SEP]'] as const;

/** In front of a piece that does not begin a word. */
const continuing = '##';

/** Words of more characters are unknown. */
const longestWord = 100;

/** Two pieces that stand next to each other, as the key of a map. No piece has a space in it. */
type Pair = `${string} ${string}`;

/**
 * The pieces of a WordPiece tokenizer: the special ones, every character of the texts, and what is made by
 * joining the pair that is most frequent, again and again.
 *
 * @param texts - What to learn from.
 * @param size - How many pieces there are to be at most.
 */
export function learnVocabulary(texts: readonly string[], size: number): string[] {
  const words = [...countWords(texts)].map(([word, count]) => ({ pieces: split(word), count }));
  const vocabulary = new Set<string>(specialTokens);
  for (const piece of words.flatMap(({ pieces }) => pieces).sort(byCodeUnits)) vocabulary.add(piece);
  while (vocabulary.size < size) {
    const pair = mostFrequent(words);
    if (pair === undefined) break;
    for (const word of words) word.pieces = join(word.pieces, pair);
    vocabulary.add(joined(pair));
  }
  return [...vocabulary];
}

/** A tokenizer with these pieces, laid out as BERT's: [CLS], the text, [SEP]. */
export function tokenizerJson(vocabulary: readonly string[]): object {
  const id = (token: (typeof specialTokens)[number]): number => vocabulary.indexOf(token);
  const special = (content: (typeof specialTokens)[number]): object => ({
    id: id(content),
    content,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true,
  });
  const text = (sequence: 'A' | 'B', type: number): object => ({ Sequence: { id: sequence, type_id: type } });
  const end = (token: '[CLS]' | '[SEP]', type: number): object => ({
    SpecialToken: { id: token, type_id: type },
  });
  const named = (token: '[CLS]' | '[SEP]'): object => ({ id: token, ids: [id(token)], tokens: [token] });
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: specialTokens.map(special),
    // Accents tell languages apart, so they stay.
    normalizer: {
      type: 'BertNormalizer',
      clean_text: true,
      handle_chinese_chars: true,
      strip_accents: false,
      lowercase: true,
    },
    pre_tokenizer: { type: 'BertPreTokenizer' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [end('[CLS]', 0), text('A', 0), end('[SEP]', 0)],
      pair: [end('[CLS]', 0), text('A', 0), end('[SEP]', 0), text('B', 1), end('[SEP]', 1)],
      special_tokens: { '[CLS]': named('[CLS]'), '[SEP]': named('[SEP]') },
    },
    decoder: { type: 'WordPiece', prefix: continuing, cleanup: true },
    model: {
      type: 'WordPiece',
      unk_token: '[UNK]',
      continuing_subword_prefix: continuing,
      max_input_chars_per_word: longestWord,
      vocab: Object.fromEntries(vocabulary.map((piece, index) => [piece, index])),
    },
  };
}

/** Words and marks of punctuation, as BertPreTokenizer finds them in these texts. */
function countWords(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{M}\p{N}]+|\p{P}/gu))
      counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

function split(word: string): string[] {
  return Array.from(word).map((character, i) => (i === 0 ? character : continuing + character));
}

function joined(pair: Pair): string {
  const [left = '', right = ''] = pair.split(' ');
  return left + right.slice(continuing.length);
}

/** Of pairs that are equally frequent it is the first by code units, so that everybody learns the same. */
function mostFrequent(
  words: readonly { readonly pieces: readonly string[]; readonly count: number }[],
): Pair | undefined {
  const counts = new Map<Pair, number>();
  for (const { pieces, count } of words) {
    for (const [i, right] of pieces.entries()) {
      const left = pieces[i - 1];
      if (left === undefined) continue;
      const pair: Pair = `${left} ${right}`;
      counts.set(pair, (counts.get(pair) ?? 0) + count);
    }
  }
  let best: Pair | undefined;
  let most = 0;
  for (const [pair, count] of counts) {
    if (count < most || (count === most && best !== undefined && byCodeUnits(best, pair) < 0)) continue;
    best = pair;
    most = count;
  }
  return best;
}

function join(pieces: readonly string[], pair: Pair): string[] {
  const whole: string[] = [];
  let last: string | undefined;
  for (const piece of pieces) {
    if (last !== undefined && `${last} ${piece}` === pair) {
      whole[whole.length - 1] = joined(pair);
      last = undefined;
    } else {
      whole.push(piece);
      last = piece;
    }
  }
  return whole;
}

function byCodeUnits(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

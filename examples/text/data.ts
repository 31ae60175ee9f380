/** The texts that the classifier is tried on: sentences that it did not learn from, and longer texts made of them. */
import { languages, testSentences } from '../languages/sentences.js';

/** A text and its language. */
export interface Text {
  readonly text: string;
  readonly label: string;
}

/** The 60 held-out sentences. */
export const sentences: readonly Text[] = testSentences.flatMap((texts, i) =>
  texts.map((text) => ({ text, label: languages[i] ?? '' })),
);

/** 60 texts of a page's third: the sentences of a language, twice, each time with another one first. */
export const pages: readonly Text[] = testSentences.flatMap((texts, i) =>
  texts.map((_, first) => {
    const turned = [...texts.slice(first), ...texts.slice(0, first)];
    return { text: [...turned, ...turned].join(' '), label: languages[i] ?? '' };
  }),
);

/** Reads Prometheus' text format, as far as single samples go. */

/** A sample of a family. */
export interface Sample {
  /** The family's name, with `_bucket` or `_count` if it is of a histogram or summary. */
  readonly name: string;
  readonly labels: Readonly<Partial<Record<string, string>>>;
  readonly value: number;
}

const line = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?[ \t]+(\S+)/;
/** Sticky, so that each sign is read once: names without a value would be tried from each of their letters otherwise. */
const label = /([a-zA-Z_]\w*)[ \t]*=[ \t]*"((?:[^"\\]|\\.)*)"[ \t]*,?[ \t]*/gy;

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, sign: string) => (sign === 'n' ? '\n' : sign));
}

function numberOf(text: string): number {
  if (/^[+]?Inf$/i.test(text)) return Infinity;
  return /^-Inf$/i.test(text) ? -Infinity : Number(text);
}

/**
 * Reads the samples of the families that are wanted. Lines of another form are left out: a view of a server shows what
 * it understands.
 */
export function readExposition(text: string, wanted: ReadonlySet<string>): Sample[] {
  const samples: Sample[] = [];
  for (const one of text.split('\n')) {
    const [, name = '', labels = '', value = ''] = line.exec(one) ?? [];
    if (!wanted.has(name)) continue;
    // Without a prototype: a label may have any name.
    const read = Object.create(null) as Record<string, string>;
    // What stands behind a label of another form is left out.
    for (const [, key = '', content = ''] of labels.trimStart().matchAll(label))
      read[key] = unescaped(content);
    samples.push({ name, labels: read, value: numberOf(value) });
  }
  return samples;
}

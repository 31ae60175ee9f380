/** Reads Prometheus' text format, as far as servers write it. */

/** Values by series, such as `a{b="c"}`. */
export function seriesOf(text: string): Map<string, number> {
  const series = new Map<string, number>();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const end = line.lastIndexOf(' ');
    const value = line.slice(end + 1);
    series.set(line.slice(0, end), value === '+Inf' ? Infinity : Number(value));
  }
  return series;
}

/** The lines that begin with `start`. */
export function linesOf(text: string, start: string): string[] {
  return text.split('\n').filter((line) => line.startsWith(start));
}

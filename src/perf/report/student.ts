/** Student's t distribution, and Welch's test for the means of two samples. All functions are pure. */

/** The natural logarithm of the gamma function, for arguments above 0 (Lanczos, 7 terms). */
function logGamma(x: number): number {
  const terms = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ];
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  const at = x - 1;
  const sum = terms.reduce((total, term, i) => total + term / (at + i + 1), 0.9999999999998099);
  const base = at + terms.length - 0.5;
  return 0.5 * Math.log(2 * Math.PI) + (at + 0.5) * Math.log(base) - base + Math.log(sum);
}

/** The regularized incomplete beta function, by its continued fraction (Lentz). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast on one side of the mean only.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front =
    Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log(1 - x)) / a;
  const tiny = 1e-300;
  let c = 1;
  let d = 1 / Math.max(tiny, 1 - ((a + b) * x) / (a + 1));
  let fraction = d;
  for (let m = 1; m <= 300; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    for (const term of [even, odd]) {
      d = 1 + term * d;
      c = 1 + term / c;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = Math.abs(c) < tiny ? tiny : c;
      fraction *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-14) break;
  }
  return front * fraction;
}

/** The probability that |T| is at least |t|, with a number of degrees of freedom. */
export function twoSidedP(t: number, freedom: number): number {
  return incompleteBeta(freedom / (freedom + t * t), freedom / 2, 0.5);
}

/** The |t| that is exceeded with a probability, by bisection. */
export function tQuantile(p: number, freedom: number): number {
  let low = 0;
  let high = 1;
  while (twoSidedP(high, freedom) > p && high < 1e12) high *= 2;
  for (let i = 0; i < 100; i++) {
    const middle = (low + high) / 2;
    if (twoSidedP(middle, freedom) > p) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** The outcome of {@link welch}. */
export interface Welch {
  /** The means of both samples. */
  readonly means: readonly [number, number];
  /** The standard error of their difference. */
  readonly error: number;
  readonly freedom: number;
  /** The probability of such a difference, or a greater one, if the true means were equal. */
  readonly p: number;
}

/** Welch's test of two samples of at least two values each; undefined for smaller ones. */
export function welch(first: readonly number[], second: readonly number[]): Welch | undefined {
  if (first.length < 2 || second.length < 2) return undefined;
  const [a, b] = [summary(first), summary(second)];
  const square = a.square + b.square;
  const means = [a.mean, b.mean] as const;
  if (square === 0)
    return { means, error: 0, freedom: first.length + second.length - 2, p: a.mean === b.mean ? 1 : 0 };
  const freedom = square ** 2 / (a.square ** 2 / (first.length - 1) + b.square ** 2 / (second.length - 1));
  const error = Math.sqrt(square);
  return { means, error, freedom, p: twoSidedP((b.mean - a.mean) / error, freedom) };
}

/** The mean, and the square of its standard error. */
function summary(values: readonly number[]): { readonly mean: number; readonly square: number } {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (values.length - 1);
  return { mean, square: variance / values.length };
}

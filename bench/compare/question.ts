/** A question to the process of a commit: the requests a second with so many outstanding. */
export interface Question {
  readonly outstanding: number;
  readonly windowMs: number;
}

/** A question to the process of a commit. */
export interface Question {
  readonly model: string;
  readonly outstanding: number;
  readonly windowMs: number;
}

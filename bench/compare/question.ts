/** What the process of a commit is asked. */
export interface Question {
  readonly model: string;
  readonly outstanding: number;
  readonly windowMs: number;
}

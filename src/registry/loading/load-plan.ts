/** A load that a poll asks for. */

/** What a poll has found out before it asks for a load. */
export interface LoadPlan {
  /** The stamp of the served versions that it compared with. */
  readonly known: string;
  /** The stamp of the files, which are not being written. */
  readonly stamp: string;
  /** Numbers of the served versions whose files are as they were, and which go on. */
  readonly keep: ReadonlySet<number>;
}

/** A question to a process that serves many models. */
export type Question =
  | { readonly ask: 'requests'; readonly models: number; readonly windowMs: number }
  | { readonly ask: 'idle'; readonly windowMs: number };

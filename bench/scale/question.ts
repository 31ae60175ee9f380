/** What a process that serves many models is asked. */
export type Question =
  | { readonly ask: 'requests'; readonly models: number; readonly windowMs: number }
  | { readonly ask: 'idle'; readonly windowMs: number };

// Checks examples/electron without Electron: types, and packed apps. See docs/testing.md.
await import('./types.mjs');
await import('./pack.mjs');

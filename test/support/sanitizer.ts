/**
 * Whether the addon runs under a sanitizer (scripts/sanitized-tests.mjs), and which tests are skipped then.
 */

/** Whether a sanitizer's library was loaded before Node. */
export const sanitized: boolean = /lib[at]san/.test(process.env['LD_PRELOAD'] ?? '');

/** Why tests that count bytes of memory are skipped; false if they are not. */
export const skipMemory: string | false =
  sanitized && 'a sanitizer has memory of its own, and keeps what was freed';

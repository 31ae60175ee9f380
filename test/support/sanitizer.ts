/** Whether the addon runs under a sanitizer (scripts/sanitized-tests.mjs), and what cannot be tested then. */

/** Whether a sanitizer's library was loaded before Node. */
export const sanitized: boolean = /lib[at]san/.test(process.env['LD_PRELOAD'] ?? '');

/** Why what counts bytes of memory is skipped; false where it is not. */
export const skipMemory: string | false =
  sanitized && 'a sanitizer has memory of its own, and keeps what was freed';

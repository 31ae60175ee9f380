/**
 * fast-check, whose tests draw the same values in every run: `npm test` does not fail by chance. `npm test -- fuzz` and
 * `npm test -- property` are there to look for more.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: 1 });

export default fc;

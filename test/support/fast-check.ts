/**
 * fast-check with a fixed seed, so that `npm test` does not fail by chance. `npm test -- fuzz` and `npm test --
 * property` search for more failures.
 */
import fc from 'fast-check';

fc.configureGlobal({ seed: 1 });

export default fc;

/** Where the models of this example are. The compiled file lies in `dist/examples/images`. */
import { modelRepository as digits } from '../digits/data.js';

const own = new URL('../../../examples/images/models/', import.meta.url);

/** The two folders of models: this example's, and that of the digits. */
export const modelRepositories: readonly URL[] = [own, digits];

/** The file of the model `decode`. */
export const decoder: URL = new URL('decode/1/model.mjs', own);

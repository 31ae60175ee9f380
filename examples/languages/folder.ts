/** The model repository of this example in the checkout; compiled, this file lies in `dist/examples/languages`. */
export const modelRepository: URL = new URL('../../../examples/languages/models/', import.meta.url);

/** The model repository of this example. The compiled file lies in `dist/examples/languages`. */
export const modelRepository: URL = new URL('../../../examples/languages/models/', import.meta.url);

/** Where the models of this example are. The compiled file lies in `dist/examples/text`. */
export const modelRepository: URL = new URL('../../../examples/text/models/', import.meta.url);

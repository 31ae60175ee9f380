/** Where the model of this example is. The compiled file lies in `dist/examples/trees`. */
export const modelRepository: URL = new URL('../../../examples/trees/models/', import.meta.url);

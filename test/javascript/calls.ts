/** Sources of models that call others. */

/** A model that answers each request with the result of these statements, which can use `server` and `request`. */
export function calling(body: string, initialize = ''): string {
  return `export default class {
    async initialize(context) { this.context = context; const { server } = context; ${initialize} }
    async execute(requests) {
      const { server } = this.context;
      return Promise.all(requests.map(async (request) => { ${body} }));
    }
  };`;
}

/** Statements that call a model with the request's input, and return its output. */
export const callOf = (model: string, options = ''): string =>
  `const { outputs } = await server.infer('${model}', { x: request.inputs.x }, { ${options} });
   return { y: outputs.y };`;

/**
 * Requests and answers as people write them, with the tensors' names in the source. A name that is computed
 * for each request costs more than everything else that a caller does.
 */

type Single<T> = Readonly<Record<string, T>>;

/** Makes the inputs object of a model with this one input. */
export function passAs<T>(name: string): (value: T) => Single<T> {
  switch (name) {
    case 'x':
      return (value) => ({ x: value });
    case 'image':
      return (value) => ({ image: value });
    case 'input_ids':
      return (value) => ({ input_ids: value });
    default:
      return (value) => ({ [name]: value });
  }
}

/** Reads an output from the outputs object. */
export function takeFrom<T>(name: string): (outputs: Single<T>) => T | undefined {
  switch (name) {
    case 'y':
      return (outputs) => outputs['y'];
    case 'scores':
      return (outputs) => outputs['scores'];
    case 'embedding':
      return (outputs) => outputs['embedding'];
    case 'logits':
      return (outputs) => outputs['logits'];
    default:
      return (outputs) => outputs[name];
  }
}

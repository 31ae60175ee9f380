import { Keypad, keys } from './keypad.mjs';

/** Scores of whole sounds to keys. */
export default class Keys {
  /** @param {readonly import('tritonts/javascript').ModelRequest[]} requests */
  execute(requests) {
    return requests.map(({ inputs }) => {
      const { data, shape } = inputs.scores.as('FP32');
      const length = shape[1] * (keys.length + 1);
      const rows = Array.from({ length: shape[0] }, (_, row) =>
        data.subarray(row * length, (row + 1) * length),
      );
      return { keys: rows.map((row) => [new Keypad().push(row)]) };
    });
  }
}

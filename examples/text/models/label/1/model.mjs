import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Probabilities to the name of the best class, and its probability. */
export default class Label {
  /** @param {import('tritonts/javascript').ModelContext} context */
  async initialize({ directory }) {
    this.labels = (await readFile(join(directory, 'labels.txt'), 'utf8')).trimEnd().split('\n');
  }

  /** @param {readonly import('tritonts/javascript').ModelRequest[]} requests */
  execute(requests) {
    return requests.map(({ inputs }) => {
      const { data, shape } = inputs.probabilities.as('FP32');
      const [rows, classes] = shape;
      const labels = [];
      const score = new Float32Array(rows);
      for (let row = 0; row < rows; row++) {
        const probabilities = data.subarray(row * classes, (row + 1) * classes);
        score[row] = Math.max(...probabilities);
        labels.push(this.labels[probabilities.indexOf(score[row])]);
      }
      return { label: { data: labels, shape: [rows, 1] }, score };
    });
  }
}

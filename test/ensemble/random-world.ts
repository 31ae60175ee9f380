/** Random ensembles of random models, with the expected answers computed independently. */

import { ensemble, type StepText, type TensorText } from '../support/harness.js';
import type { RepositoryModel } from '../support/repository.js';
import { graph } from '../support/onnx/graph.js';
import { Dice } from '../requests/dice.js';

const addsOne = graph('adding')
  .input('x', 'FP32', ['N', 1])
  .initializer('one', 'FP32', [1], Float32Array.of(1))
  .node('Add', ['x', 'one'], ['y'])
  .output('y', 'FP32', ['N', 1])
  .encode();

/** Numbers stay below this, so that FP32 holds them exactly. */
const modulus = 4093;

/** A model of a world: y = the sum of its inputs times 3, and its salt; z = y + 1, left out for some. */
interface Leaf {
  readonly name: string;
  readonly inputs: readonly { readonly name: string; readonly optional: boolean }[];
  readonly hasSecond: boolean;
  readonly salt: number;
  /** y = x + 1 in ONNX Runtime, which never fails and leaves nothing out. */
  readonly isOnnx: boolean;
}

interface Step {
  readonly leaf: Leaf;
  /** Tensors by the leaf's inputs, and the tensors of its outputs. */
  readonly reads: readonly string[];
  readonly makes: readonly string[];
}

/** The expected outcome of a request: its outputs by name, or the models of which one fails. */
export type Expected =
  { readonly outputs: Readonly<Record<string, readonly number[]>> } | { readonly failing: readonly string[] };

const fails = (leaf: Leaf, y: number): boolean => !leaf.isOnnx && y % 29 === 7;
const leavesOut = (leaf: Leaf, y: number): boolean => y % 5 === 2 && leaf.hasSecond;

function valueOf(leaf: Leaf, sum: number): number {
  return leaf.isOnnx ? sum + 1 : (sum * 3 + leaf.salt) % modulus;
}

/** See the head of this file. */
export class World {
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly leaves: readonly Leaf[];
  readonly #steps: readonly Step[];
  readonly #dice: Dice;

  constructor(seed: number) {
    const dice = (this.#dice = new Dice(seed));
    this.leaves = Array.from({ length: 2 + dice.below(3) }, (_, i) => drawLeaf(dice, i));
    this.inputs = ['a', 'b'].slice(0, 1 + dice.below(2));
    const tensors = [...this.inputs];
    const unread = new Set(tensors);
    const steps: Step[] = [];
    const least = 1 + dice.below(4);
    while (steps.length < least || this.inputs.some((name) => unread.has(name))) {
      const leaf = dice.pick(this.leaves);
      const open = this.inputs.find((name) => unread.has(name));
      const reads = leaf.inputs.map((_, i) => (i === 0 && open !== undefined ? open : dice.pick(tensors)));
      const makes = [`t${steps.length}`, ...(leaf.hasSecond ? [`u${steps.length}`] : [])];
      for (const name of reads) unread.delete(name);
      for (const name of makes) {
        tensors.push(name);
        unread.add(name);
      }
      steps.push({ leaf, reads, makes });
    }
    this.#steps = steps;
    // An unread tensor would be an error, so it becomes an output. Some of the others are outputs, too.
    this.outputs = tensors.filter(
      (name) => !this.inputs.includes(name) && (unread.has(name) || dice.oneIn(4)),
    );
  }

  /** The models and the ensemble `e`, as a repository has them. */
  models(): Record<string, RepositoryModel> {
    const dice = this.#dice;
    const texts = this.#steps.map(({ leaf, reads, makes }): StepText => ({
      model: leaf.name,
      from: Object.fromEntries(leaf.inputs.map(({ name }, i) => [name, reads[i] ?? ''])),
      to: Object.fromEntries(makes.map((name, i) => ['yz'[i] ?? '', name])),
    }));
    const tensor = (name: string): TensorText => ({ name, dims: [1] });
    return {
      ...Object.fromEntries(this.leaves.map((leaf) => [leaf.name, repositoryModel(leaf, dice)])),
      e: ensemble(texts, {
        maxBatchSize: 8,
        inputs: this.inputs.map(tensor),
        outputs: this.outputs.map(tensor),
        ...(dice.oneIn(4) && { maxInflight: 1 + dice.below(8) }),
      }),
    };
  }

  /** The expected outcome of a request with these values, one per row, and these wanted outputs. */
  evaluate(
    given: Readonly<Record<string, readonly number[]>>,
    wanted: readonly string[] = this.outputs,
  ): Expected {
    const needed = new Set<Step>();
    const need = (tensor: string): void => {
      const step = this.#steps.find(({ makes }) => makes.includes(tensor));
      if (step === undefined || needed.has(step)) return;
      needed.add(step);
      step.reads.forEach(need);
    };
    wanted.forEach(need);
    const tensors = new Map<string, readonly number[]>(Object.entries(given));
    const failing = new Set<string>();
    for (const { leaf, reads, makes } of this.#steps.filter((step) => needed.has(step))) {
      const inputs = reads.map((name) => tensors.get(name));
      const lacks = inputs.some((values, i) => values === undefined && leaf.inputs[i]?.optional !== true);
      const present = inputs.filter((values) => values !== undefined);
      // Without any input a model cannot know its number of rows.
      if (lacks || present.length === 0) {
        failing.add(leaf.name);
        continue;
      }
      const rows = present[0]?.map((_, row) => present.reduce((sum, values) => sum + (values[row] ?? 0), 0));
      const made = (rows ?? []).map((sum) => valueOf(leaf, sum));
      if (made.some((y) => fails(leaf, y))) {
        failing.add(leaf.name);
        continue;
      }
      tensors.set(makes[0] ?? '', made);
      if (makes[1] !== undefined && !leavesOut(leaf, made[0] ?? 0)) {
        tensors.set(
          makes[1],
          made.map((y) => (y + 1) % modulus),
        );
      }
    }
    if (failing.size > 0) return { failing: [...failing] };
    const outputs: Record<string, readonly number[]> = {};
    for (const name of wanted) {
      const values = tensors.get(name);
      if (values !== undefined) outputs[name] = values;
    }
    return { outputs };
  }
}

function drawLeaf(dice: Dice, number: number): Leaf {
  const isOnnx = dice.oneIn(3);
  // At least one input is required, so that a batch has rows.
  const inputs = isOnnx
    ? [{ name: 'x', optional: false }]
    : Array.from({ length: 1 + dice.below(3) }, (_, i) => ({
        name: `x${i}`,
        optional: i > 0 && dice.oneIn(2),
      }));
  return { name: `m${number}`, inputs, hasSecond: !isOnnx && dice.oneIn(2), salt: dice.below(900), isOnnx };
}

function repositoryModel(leaf: Leaf, dice: Dice): RepositoryModel {
  const field = (name: string, more = ''): string =>
    `{ name: "${name}" data_type: TYPE_FP32 dims: [ 1 ] ${more}}`;
  const batching = dice.oneIn(2) ? 'dynamic_batching { }' : '';
  const group = `instance_group [ { kind: KIND_CPU count: ${1 + dice.below(2)} } ]`;
  const lists = `input [ ${leaf.inputs.map(({ name, optional }) => field(name, optional ? 'optional: true ' : '')).join(', ')} ]
output [ ${['y', ...(leaf.hasSecond ? ['z'] : [])].map((name) => field(name)).join(', ')} ]`;
  if (leaf.isOnnx) {
    return {
      config: `backend: "onnxruntime" max_batch_size: 8 ${batching}\n${lists}\n${group}`,
      versions: { '1': addsOne },
    };
  }
  const more = dice.oneIn(3) ? 'parameters { key: "max_concurrency" value { string_value: "3" } }' : '';
  const waits = dice.oneIn(3);
  return {
    config: `backend: "javascript" max_batch_size: 8 ${batching} ${more}\n${lists}\n${group}`,
    versions: {
      '1': {
        'model.mjs': `export default { ${waits ? 'async ' : ''}execute(requests) {
  ${waits ? 'await new Promise((resolve) => setImmediate(resolve));' : ''}
  return requests.map(({ inputs }) => {
    const given = Object.values(inputs).map(({ data }) => data);
    const y = Array.from(given[0], (_, row) => (given.reduce((sum, data) => sum + data[row], 0) * 3 + ${leaf.salt}) % ${modulus});
    if (y.some((value) => value % 29 === 7)) return new Error('unlucky');
    const z = y.map((value) => (value + 1) % ${modulus});
    const column = (values) => values.map((value) => [value]);
    return ${leaf.hasSecond ? 'y[0] % 5 === 2 ? { y: column(y), z: null } : { y: column(y), z: column(z) }' : '{ y: column(y) }'};
  });
} };`,
      },
    },
  };
}

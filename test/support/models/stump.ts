/** Makes small tree models in XGBoost's JSON, without XGBoost. */

/** A tree as the file has it. Node 0 is the root; the children of leaves are -1. */
interface TreeColumns {
  readonly left: readonly number[];
  readonly right: readonly number[];
  /** Of leaves: their values. */
  readonly conditions: readonly number[];
}

/**
 * A binary classifier whose trees have one split: a positive first feature has the larger probability. A row has
 * `features` values.
 */
export function stumpModel(features: number): Uint8Array {
  return modelOf(features, 1, { left: [1, -1, -1], right: [2, -1, -1], conditions: [0, -1, 1] });
}

/** A model of one feature whose equal trees are chains. Zero goes down to the last of the levels. */
export function chainModel(trees: number, levels: number): Uint8Array {
  // The inner nodes are 0, 2, 4 …; the leaf of each follows it.
  const inner = Array.from({ length: levels }, (_, level) => 2 * level);
  return modelOf(1, trees, {
    left: [...inner.flatMap((node) => [node + 1, -1]), -1],
    right: [...inner.flatMap((node) => [node + 2, -1]), -1],
    conditions: [...inner.flatMap((node) => [-1 - node, 0]), 0],
  });
}

function modelOf(features: number, count: number, { left, right, conditions }: TreeColumns): Uint8Array {
  const zeros = left.map(() => 0);
  const tree = {
    base_weights: zeros,
    categories: [],
    categories_nodes: [],
    categories_segments: [],
    categories_sizes: [],
    default_left: zeros,
    id: 0,
    left_children: left,
    loss_changes: zeros,
    parents: zeros,
    right_children: right,
    split_conditions: conditions,
    split_indices: zeros,
    split_type: zeros,
    sum_hessian: left.map(() => 1),
    tree_param: {
      num_deleted: '0',
      num_feature: String(features),
      num_nodes: String(left.length),
      size_leaf_vector: '1',
    },
  };
  const model = {
    learner: {
      attributes: {},
      feature_names: [],
      feature_types: [],
      gradient_booster: {
        model: {
          gbtree_model_param: { num_parallel_tree: '1', num_trees: String(count) },
          iteration_indptr: Array.from({ length: count + 1 }, (_, i) => i),
          tree_info: Array.from({ length: count }, () => 0),
          trees: Array.from({ length: count }, () => tree),
        },
        name: 'gbtree',
      },
      learner_model_param: {
        base_score: '5E-1',
        boost_from_average: '1',
        num_class: '0',
        num_feature: String(features),
        num_target: '1',
      },
      objective: { name: 'binary:logistic', reg_loss_param: { scale_pos_weight: '1' } },
    },
    version: [2, 0, 3],
  };
  return Buffer.from(JSON.stringify(model));
}

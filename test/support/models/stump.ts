/** Makes a small tree model in XGBoost's JSON, without XGBoost. */

/**
 * A binary classifier of one tree: a positive first feature has the larger probability. A row has `features`
 * values.
 */
export function stumpModel(features: number): Uint8Array {
  const tree = {
    base_weights: [0, -1, 1],
    categories: [],
    categories_nodes: [],
    categories_segments: [],
    categories_sizes: [],
    default_left: [1, 0, 0],
    id: 0,
    left_children: [1, -1, -1],
    loss_changes: [1, 0, 0],
    parents: [2147483647, 0, 0],
    right_children: [2, -1, -1],
    split_conditions: [0, -1, 1],
    split_indices: [0, 0, 0],
    split_type: [0, 0, 0],
    sum_hessian: [4, 2, 2],
    tree_param: { num_deleted: '0', num_feature: String(features), num_nodes: '3', size_leaf_vector: '1' },
  };
  const model = {
    learner: {
      attributes: {},
      feature_names: [],
      feature_types: [],
      gradient_booster: {
        model: {
          gbtree_model_param: { num_parallel_tree: '1', num_trees: '1' },
          iteration_indptr: [0, 1],
          tree_info: [0],
          trees: [tree],
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

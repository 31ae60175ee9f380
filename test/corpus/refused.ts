/** The configurations under `configs/` that do not load, with the reasons. */

import {
  addModel,
  fixedBatchModel,
  identityModel,
  optionalInputModel,
  rowSumModel,
  sumAndDifferenceModel,
} from '../support/models.js';
import { hasOpenVino } from '../support/openvino.js';
import { runsPyTorch } from '../support/pytorch.js';
import { hasTensorFlow } from '../support/tensorflow.js';
import type { Reason, Refused } from './case.js';

function unsupported(line: number, field: string, text = 'not supported'): Reason {
  return { code: 'UNSUPPORTED', at: { line, field }, text };
}

function invalid(line: number, field: string, text: string): Reason {
  return { code: 'INVALID_ARG', at: { line, field }, text };
}

/**
 * Triton accepts these, but they are not built here. The message names exactly the field that asks for it.
 */
const notBuilt: Readonly<Record<string, Refused>> = {
  decoupled_answers: {
    reasons: [
      invalid(
        8,
        'model_transaction_policy.decoupled',
        "models of the backend 'onnxruntime' give one response",
      ),
    ],
  },
  accelerator_openvino: {
    reasons: [
      unsupported(6, 'optimization.execution_accelerators.cpu_execution_accelerator[0].name', 'openvino'),
    ],
  },
  // The digest in the configuration is another file's.
  repository_agent: {
    reasons: [
      { code: 'INTERNAL', text: "failed to load 'repository_agent', failed to poll from model repository" },
    ],
  },
  passive_spare: { reasons: [unsupported(8, 'instance_group[1].passive')] },
  kind_model: { reasons: [unsupported(6, 'instance_group[0].kind', 'KIND_MODEL')] },
  custom_batching: { reasons: [unsupported(7, 'parameters["TRITON_BATCH_STRATEGY_PATH"]')] },
  other_runtime: { reasons: [unsupported(3, 'runtime')] },
};

/**
 * The refusal of an unknown backend. With `line` 0 the backend is not written, but follows from the files.
 */
function unknownBackend(name: string, line: number, files: Readonly<Record<string, string>>): Refused {
  return {
    reasons: [
      invalid(line, 'backend', `unknown backend '${name}'; the backends are fil, identity, javascript`),
    ],
    version: { '1': files },
  };
}

const otherBackends: Readonly<Record<string, Refused>> = {
  bls_pipeline: {
    reasons: [
      { code: 'UNAVAILABLE', text: "EXECUTION_ENV_PATH '$$TRITON_MODEL_DIRECTORY/environment.tar.gz'" },
    ],
    version: { '1': { 'model.py': 'class TritonPythonModel: pass\n' } },
  },
  torchscript: {
    reasons: [
      runsPyTorch
        ? { code: 'INTERNAL', text: "failed to load model 'torchscript': " }
        : { code: 'UNAVAILABLE', text: 'there is no PyTorch: libtorch_cpu.so' },
    ],
    version: { '1': { 'model.pt': 'PK' } },
  },
  openvino_model: {
    reasons: [
      hasOpenVino
        ? { code: 'INVALID_ARG', text: 'OpenVINO cannot read the model' }
        : { code: 'UNAVAILABLE', text: 'there is no OpenVINO: libopenvino_c' },
    ],
    version: { '1': { 'model.xml': '<net/>', 'model.bin': '' } },
  },
  ranking_savedmodel: {
    reasons: [
      hasTensorFlow
        ? { code: 'INVALID_ARG', text: 'TensorFlow cannot load the SavedModel' }
        : { code: 'UNAVAILABLE', text: 'there is no TensorFlow: libtensorflow.so.2' },
    ],
    version: { '1': { 'model.savedmodel/saved_model.pb': 'not a model' } },
  },
  tensorrt_engine: {
    reasons: [{ code: 'UNAVAILABLE', text: 'there is no TensorRT: none of libnvinfer.so.11' }],
    version: { '1': { 'model.plan': 'ptrt' } },
  },
  mistake_backend: unknownBackend('onnxruntime_onnx', 2, { 'model.onnx': '' }),
};

/** Common mistakes. */
const mistakes: Readonly<Record<string, Refused>> = {
  mistake_name: { reasons: [invalid(2, 'name', 'unexpected name "text_classifer"')] },
  mistake_batch_in_dims: {
    model: addModel,
    reasons: [invalid(9, 'input[0].dims', 'Expected dims: [ 16 ]')],
  },
  mistake_no_batch: {
    model: addModel,
    reasons: [invalid(4, 'input[0].dims', 'all of it: max_batch_size is 0')],
  },
  mistake_type: {
    model: rowSumModel,
    reasons: [invalid(4, 'input[0].data_type', 'which is TYPE_INT64, but the configuration says TYPE_INT32')],
  },
  mistake_input_name: {
    model: sumAndDifferenceModel,
    reasons: [invalid(8, 'output[0].name', '(did you mean sum?)')],
  },
  mistake_missing_input: {
    model: sumAndDifferenceModel,
    reasons: [invalid(4, 'input', `lacks the model's input "b" (TYPE_FP32, shape [-1,16])`)],
  },
  mistake_preferred_size: {
    reasons: [
      invalid(7, 'dynamic_batching.preferred_batch_size[2]', 'expected 1 to max_batch_size, which is 8'),
    ],
  },
  mistake_fixed_batch: {
    model: fixedBatchModel,
    reasons: [
      invalid(4, 'max_batch_size', '"x" has shape [4,16], whose first dimension is fixed to 4'),
      invalid(4, 'max_batch_size', '"y" has shape [4,16], whose first dimension is fixed to 4'),
    ],
  },
  mistake_platform: { reasons: [invalid(2, 'platform', 'unexpected platform "onnxruntime"')] },
  mistake_pair: { reasons: [invalid(3, 'platform', 'the platform of onnxruntime is onnxruntime_onnx')] },
  mistake_cpu_with_gpus: {
    reasons: [invalid(6, 'instance_group[0].gpus', 'instances of KIND_CPU must not list GPUs but found [0]')],
  },
  mistake_default_priority: {
    reasons: [
      invalid(8, 'dynamic_batching.default_priority_level', 'expected 1 to priority_levels, 2, but found 3'),
    ],
  },
  mistake_two_schedulers: {
    reasons: [
      invalid(
        7,
        'sequence_batching',
        'only one of dynamic_batching (line 6) and sequence_batching can be set',
      ),
    ],
  },
  mistake_ensemble_instances: {
    reasons: [invalid(5, 'instance_group', 'an ensemble has no instances of its own')],
  },
  // The models of these ensembles are not in the repository.
  ensemble_text: {
    reasons: [invalid(10, 'ensemble_scheduling.step[0].model_name', "no repository has a model 'tokenizer'")],
  },
  ensemble_images: {
    reasons: [
      invalid(13, 'ensemble_scheduling.step[0].model_name', "no repository has a model 'jpeg_decoder'"),
      invalid(19, 'ensemble_scheduling.step[1].model_name', "no repository has a model 'classify'"),
      invalid(25, 'ensemble_scheduling.step[2].model_name', "no repository has a model 'detect'"),
    ],
  },
  mistake_reshape: { reasons: [invalid(4, 'input[0].reshape', 'differ in size: 16 and 15 elements')] },
  mistake_optional: {
    model: optionalInputModel,
    reasons: [invalid(6, 'input[1].optional', 'only without batching but max_batch_size is 8')],
  },
  mistake_required_optional: {
    model: addModel,
    reasons: [invalid(4, 'input[0].optional', 'the model needs its input "x"')],
  },
  mistake_parameter: {
    reasons: [invalid(6, 'parameters["intra_op_thread_count"]', 'expected an integer but found "two"')],
  },
  mistake_graph_level: {
    reasons: [
      invalid(
        7,
        'optimization.graph.level',
        'expected -1 (basic), 0 (all), 1 (extended) or 2 (off) but received 99',
      ),
    ],
  },
  mistake_accelerator: {
    reasons: [
      invalid(
        6,
        'optimization.execution_accelerators.cpu_execution_accelerator[0].name',
        'did you mean openvino?',
      ),
    ],
  },
  mistake_labels: {
    reasons: [
      {
        code: 'INTERNAL',
        at: { line: 5, field: 'output[0].label_filename' },
        text: 'mistake_labels/lables.txt cannot be read',
      },
    ],
  },
  mistake_labels_outside: {
    reasons: [
      {
        code: 'UNSUPPORTED',
        at: { line: 5, field: 'output[0].label_filename' },
        text: "leads out of the model's directory",
      },
    ],
  },
  mistake_versions: {
    reasons: [
      invalid(
        6,
        'version_policy',
        'at least one version must be available under the version policy specific { versions: [2, 3] }',
      ),
    ],
  },
  mistake_filename: { reasons: [{ code: 'INTERNAL', text: 'modle.onnx' }] },
  mistake_corrupt_file: {
    version: { '1': { 'model.onnx': '<html>404 Not Found</html>' } },
    reasons: [{ code: 'INTERNAL', text: 'mistake_corrupt_file/1/model.onnx' }],
  },
  mistake_empty_file: {
    version: { '1': { 'model.onnx': '' } },
    reasons: [{ code: 'INTERNAL', text: 'mistake_empty_file/1/model.onnx' }],
  },
  mistake_operators: {
    reasons: [
      {
        code: 'INTERNAL',
        at: { line: 6, field: 'model_operations.op_library_filename[0]' },
        text: 'operators/libtext.so',
      },
    ],
  },
  mistake_cached_decoupled: {
    reasons: [invalid(7, 'response_cache.enable', 'a decoupled model cannot use the response cache')],
  },
  mistake_control: {
    reasons: [
      invalid(
        8,
        'sequence_batching.control_input[0].control[0].int32_false_true',
        'expected two values, for false and true, but found 1',
      ),
    ],
  },
  mistake_profile: {
    reasons: [invalid(6, 'instance_group[0].profile', 'only models of platform tensorrt_plan have profiles')],
  },
  mistake_output_dims: {
    model: () => identityModel('FP32', ['N', 'D']),
    reasons: [invalid(6, 'output[0].dims', 'has shape [-1,-1]')],
  },
  mistake_completion_half_entry: {
    model: addModel,
    reasons: [invalid(4, 'input[0].data_type', 'missing'), invalid(4, 'input[0].dims', 'missing')],
  },
  mistake_format: { reasons: [invalid(4, 'input[0].dims', 'FORMAT_NCHW needs 3 dims but found [224,224]')] },
  mistake_shape_tensor: {
    reasons: [invalid(4, 'input[0].is_shape_tensor', 'only models of platform tensorrt_plan')],
  },
};

/** By folder; those that need a GPU are in {@link needGpu}. */
export const refused: Readonly<Record<string, Refused>> = { ...notBuilt, ...otherBackends, ...mistakes };

/**
 * Folders of models that need a GPU unless the server's `instanceKind` is 'cpu', with the line that asks for
 * it.
 */
export const needGpu: Readonly<Record<string, number>> = {
  gpu_each: 7,
  gpu_listed: 9,
  gpu_beside_cpu: 7,
  accelerator_cuda: 6,
};

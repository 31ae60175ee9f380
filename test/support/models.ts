/** All test and benchmark models by name. Their seeds are fixed, so their bytes are the same in every run. */
export {
  addModel,
  fixedBatchModel,
  identityModel,
  optionalInputModel,
  rowSumModel,
  sumAndDifferenceModel,
  type AddOptions,
  type Dims,
} from './models/arithmetic.js';
export { convNetModel, type ConvNetOptions } from './models/conv-net.js';
export { mlpLayers, mlpModel, mlpWidths, type DenseLayer } from './models/mlp.js';
export {
  detectionModel,
  externalDataModel,
  externalWeights,
  failingModel,
  largeOutputModel,
  roundsModel,
  sequenceModel,
  slowModel,
  squaresModel,
  tableRows,
  unsupportedOperatorModel,
} from './models/oddities.js';
export {
  paddedTextsModel,
  raggedSumModel,
  raggedTextsModel,
  tokensOf,
  unequalLengths,
  type TextsOptions,
} from './models/ragged-texts.js';
export { textEncoderModel, type TextEncoderOptions } from './models/text-encoder.js';

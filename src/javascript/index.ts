/**
 * Types for models that are written in JavaScript or TypeScript.
 *
 * @packageDocumentation
 */

export type {
  AnsweredOf,
  JavaScriptBackend,
  JavaScriptModel,
  JavaScriptModelClass,
  ModelContext,
  ModelLogger,
  ModelModule,
  ModelObject,
  ModelResult,
  Outputs,
  Results,
  WorkersOptions,
} from '../api/javascript-model.js';
export type { ModelRequest, NameOrSignature, ReceivedOf } from '../api/model-request.js';

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
  ModelRequest,
  ModelResult,
  NameOrSignature,
  Outputs,
  ReceivedOf,
  Results,
  WorkersOptions,
} from './types.js';

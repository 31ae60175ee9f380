/**
 * Types for models that are written in JavaScript or TypeScript.
 *
 * @packageDocumentation
 */

export type {
  JavaScriptBackend,
  JavaScriptModel,
  JavaScriptModelClass,
  ModelContext,
  ModelLogger,
  ModelModule,
  ModelObject,
  ModelRequest,
  Outputs,
  Results,
  WorkersOptions,
} from './types.js';

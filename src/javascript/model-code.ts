/** The place of a JavaScript model's code. */

import type { JavaScriptModel, JavaScriptModelClass } from '../api/javascript-model.js';

/** The export of a model's file: a class of models, or a model. */
export type ModelExport = JavaScriptModelClass | JavaScriptModel;

/** The code of a model: a file, or a value of this program. */
export type ModelCode = { readonly url: string } | { readonly model: ModelExport };

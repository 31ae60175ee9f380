/** Where a JavaScript model's code is. */

import type { JavaScriptModel, JavaScriptModelClass } from '../api/javascript-model.js';

/** What a file exports: a class of models, or a model. */
export type ModelExport = JavaScriptModelClass | JavaScriptModel;

/** In a file, or in this program. */
export type ModelCode = { readonly url: string } | { readonly model: ModelExport };

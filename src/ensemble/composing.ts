/** The composing models of an ensemble, as its rules need them. */

import type { ModelConfig, ModelEnsemblingStep } from '../config/index.js';

/** A served version of a composing model. */
export interface ComposingVersion {
  readonly version: number;
  /** The engine's id of the version. */
  readonly uid: number;
  readonly config: ModelConfig;
  /** Whether its model receives the ids of requests (default false). */
  readonly takesIds?: boolean | undefined;
  /** Stands for its content in a response cache outside of the process (default: it is not known). */
  readonly identity?: string | undefined;
  /** Class labels by output. */
  readonly labels: Readonly<Record<string, readonly string[]>>;
}

/** Finds the served versions of a model, newest first; undefined if no repository has the model. */
export type FindComposing = (model: string) => readonly ComposingVersion[] | undefined;

/** Records a problem of a field. */
export type Note = (path: string, text: string, code?: 'INVALID_ARG' | 'UNSUPPORTED' | 'UNAVAILABLE') => void;

/** Names of an ensemble's composing models, each once. */
export function composingModels(config: ModelConfig): string[] {
  return [...new Set((config.ensemble_scheduling?.step ?? []).map(({ model_name: name }) => name))];
}

/** Whether a configuration is that of an ensemble. */
export function isEnsemble({ platform }: Pick<ModelConfig, 'platform'>): boolean {
  return platform === 'ensemble';
}

/**
 * The graph as text with one line per step, for messages.
 *
 * @example
 *   step[0] tokenizer: text=text → ids=token_ids
 */
export function graphText({ name, input, output, ensemble_scheduling: graph }: ModelConfig): string {
  const names = (tensors: readonly { readonly name: string }[]): string =>
    tensors.map((tensor) => tensor.name).join(', ');
  const map = (entries: Readonly<Record<string, string>>): string =>
    Object.entries(entries)
      .map(([own, tensor]) => (own === tensor ? own : `${own}=${tensor}`))
      .join(', ');
  const line = (step: ModelEnsemblingStep, index: number): string =>
    `  step[${index}] ${step.model_name}: ${map(step.input_map)} → ${map(step.output_map)}`;
  return [
    `the graph of '${name}': ${names(input)} → ${names(output)}`,
    ...(graph?.step ?? []).map(line),
  ].join('\n');
}

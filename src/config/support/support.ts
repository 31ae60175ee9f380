/** A row of the class table: what it says of a field, and how rows are made. */

import type { ModelConfig } from '../schema/types.js';

/**
 * `acted`: the field has its effect. `hint`: it is accepted without effect, and noted. `refused`: the load
 * fails with UNSUPPORTED.
 */
export type SupportClass = 'acted' | 'hint' | 'refused';

/** A row: the class of a field, with an explanation. */
export interface Support {
  readonly class: SupportClass;
  /** For `acted`, the effect; for `hint` and `refused`, the reason. */
  readonly text: string;
  /** The row that applies instead if no instance is on a GPU. */
  readonly onCpu?: Support | undefined;
  /** The row that applies instead if there are no priority levels. */
  readonly withoutLevels?: Support | undefined;
  /** The backends that the row covers, and the row for other backends. */
  readonly only?: { readonly backends: readonly string[]; readonly others: Support } | undefined;
  /** The rows that apply instead to backends by how their models get unequal shapes (`BackendRules.ragged`). */
  readonly ragged?: { readonly apart: Support; readonly none: Support } | undefined;
  /** Enum values with another class. */
  readonly values?: Readonly<Record<string, Support>> | undefined;
  /**
   * Recognises values that have the same effect as the default, or the effect that is meant. They are neither refused nor
   * noted. `rules`: those of the configuration's backend (`BackendRules`); undefined if it has none.
   */
  readonly harmless?:
    | ((
        value: unknown,
        config: ModelConfig,
        rules: { readonly placesItself?: boolean } | undefined,
      ) => boolean)
    | undefined;
}

/** A field that has its effect. */
export const acted = (text: string, values?: Support['values'], withoutLevels?: Support): Support => ({
  class: 'acted',
  text,
  values,
  withoutLevels,
});
/** A field without effect, which is noted. */
export const hint = (text: string): Support => ({ class: 'hint', text });
/** A field that is not implemented. */
export const refused = (text: string, harmless?: Support['harmless']): Support => ({
  class: 'refused',
  text,
  harmless,
});

/** The keys of a telephone, in the order of the classifier's scores. The last score is that of no key. */
export const keys = [...'123A456B789C*0#D'];

/** A key counts when this many windows in a row agree on it: they begin 10 ms apart. */
const enough = 3;

/** Scores to the keys that were pressed. Scores may come in pieces. */
export class Keypad {
  #last = keys.length;
  #count = 0;

  /**
   * The keys that these scores complete.
   *
   * @param {Float32Array} scores - A row for each window.
   * @returns {string}
   */
  push(scores) {
    let pressed = '';
    const classes = keys.length + 1;
    for (let at = 0; at < scores.length; at += classes) {
      const row = scores.subarray(at, at + classes);
      const best = row.indexOf(Math.max(...row));
      this.#count = best === this.#last ? this.#count + 1 : 1;
      this.#last = best;
      // Only once: a key that is held down is one key.
      if (this.#count === enough) pressed += keys[best] ?? '';
    }
    return pressed;
  }
}

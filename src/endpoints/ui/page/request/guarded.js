// A group of controls that says beside them what is wrong.

import { make } from '../dom.js';
import { Wrong } from './wrong.js';

let groups = 0;

/**
 * Makes a group of controls.
 *
 * @returns `attempt` runs what reads the controls; undefined after it has said what is wrong.
 */
export function guarded(name, ...children) {
  const fault = make('p', { className: 'bad', id: `fault-${groups++}`, hidden: true });
  const element = make('fieldset', {}, make('legend', {}, name), ...children, fault);
  const controls = element.querySelectorAll('input, select, textarea');
  for (const control of controls) control.setAttribute('aria-describedby', fault.id);
  const say = (text) => {
    fault.textContent = text;
    fault.hidden = text === '';
    for (const control of controls) control.setAttribute('aria-invalid', String(text !== ''));
  };
  const attempt = async (read) => {
    say('');
    try {
      return await read();
    } catch (error) {
      if (!(error instanceof Wrong)) throw error;
      say(error.message);
      return undefined;
    }
  };
  return { element, attempt };
}

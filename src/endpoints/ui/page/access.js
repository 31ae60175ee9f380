// The question for a secret that the server wants.

import { find } from './dom.js';
import { Refused, useSecret } from './server.js';

/** Whether the page's readings need the wanted secret. */
let isOfReadings = false;

/** Tells of an error, and asks for the secret if it is for the lack of one. */
export function tell(error, where) {
  where.textContent = error.message;
  if (!(error instanceof Refused) || error.header === undefined) return;
  find('access-header').textContent = error.header;
  find('access').hidden = false;
  isOfReadings = false;
}

/** {@link tell}, of an error of a reading. */
export function tellOfReading(error, where) {
  tell(error, where);
  isOfReadings = error instanceof Refused && error.header !== undefined;
}

/** A reading has succeeded. What another call has asked for stays, until it is given. */
export function hasRead() {
  if (isOfReadings) find('access').hidden = true;
  isOfReadings = false;
}

/**
 * Lets the user give secrets.
 *
 * @param onGiven - Called when there is one.
 * @param onWrong - Gets the reason why a secret cannot be sent.
 */
export function takeSecrets(onGiven, onWrong) {
  find('access').addEventListener('submit', (event) => {
    event.preventDefault();
    const header = find('access-header').textContent;
    const value = find('access-value').value;
    try {
      new Headers([[header, value]]);
    } catch {
      onWrong(`the secret of '${header}' has signs that a header cannot send`);
      return;
    }
    useSecret(header, value);
    find('access-value').value = '';
    find('access').hidden = true;
    onGiven();
  });
}

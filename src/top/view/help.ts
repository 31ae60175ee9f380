/** The help of the view: it fits a terminal of 80 columns and 24 lines. */

import { columns } from './columns.js';

/** See the head of this file. */
export const helpLines: readonly string[] = [
  'q, Ctrl-C quit; Ctrl-Z: suspend; Ctrl-L: draw anew',
  'space, p  pause the view; the server is still read',
  's, r      sort by another column, also right and left; reverse the order',
  '/         filter by text in the name or the state; Enter keeps it, Esc ends it',
  'up, down  move in the list; also page up, page down, home, end',
  '?, h      this text',
  '',
  ...columns.map(({ title, meaning }) => `${title.padEnd(9)} ${meaning}`),
];

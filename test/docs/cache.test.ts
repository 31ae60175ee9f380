/** The page of the response cache: its programs print what they say. */

import { test } from 'node:test';
import { programsPrintWhatTheySay } from './page-program.js';

test('the programs of the page print what they say', (t) => programsPrintWhatTheySay(t, 'cache', 2));

/** The page of lazy models: its program prints what it says. */

import { test } from 'node:test';
import { programsPrintWhatTheySay } from './page-program.js';

test('the programs of the page print what they say', (t) => programsPrintWhatTheySay(t, 'many-models', 1));

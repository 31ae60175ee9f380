/** Packs the app with @electron/packager: npm run pack. */

import { packager } from '@electron/packager';
import { packagerOptions } from './packager-options.js';

for (const folder of await packager(packagerOptions(process.platform))) console.log(folder);

/** A process that exits while native code feeds its server. */
import { feed } from './frames-feed.js';

await feed(process.argv[2] ?? '');
process.exit(7);

/** The flags of `tritonts top`. The parser, the help and the table in docs/top.md are generated from this table. */

import { columnIds } from '../../top/view/columns.js';
import {
  alone,
  byName,
  choice,
  lettered,
  number,
  text,
  use,
  useAll,
  type Flag,
  type FlagGroup,
} from '../flags/flag.js';

const server: FlagGroup = {
  title: 'The server',
  flags: [
    lettered(
      'u',
      use(
        'url',
        text('url'),
        'http://localhost:8000',
        'http://…, https://…, grpc://… or grpcs://…; a host and port without a scheme are of HTTP; a path, or unix: and a path, is the socket of serveTop; may also stand alone',
      ),
    ),
    use(
      'metrics-url',
      text('url'),
      undefined,
      'where metrics are (default: http://<host>:8002/metrics); headers are not sent there',
    ),
    lettered(
      'H',
      useAll('header', 'name:value', 'a header of each request, such as that of a restricted API'),
    ),
    use(
      'timeout',
      number(0.1, 600, 'seconds'),
      '5',
      'how long an answer may take before the server counts as gone',
    ),
  ],
};

const view: FlagGroup = {
  title: 'The view',
  flags: [
    lettered('n', use('interval', number(0.1, 3600, 'seconds'), '2', 'the time between two readings')),
    lettered('s', use('sort', choice(...columnIds), 'requests', 'the column that models are sorted by')),
    use('reverse', alone, undefined, 'the least first'),
    lettered(
      'f',
      use('filter', text('text'), undefined, 'only models with this text in the name or the state'),
    ),
    use('once', alone, undefined, 'one interval as plain text, and the end'),
    use('json', alone, undefined, 'an object a line for each interval, in place of text'),
    use('help', alone, undefined, 'this text'),
  ],
};

/** All flags, in the order of the help. */
export const topFlagGroups: readonly FlagGroup[] = [server, view];

/** All flags by name. */
export const topFlags: ReadonlyMap<string, Flag> = byName(topFlagGroups);

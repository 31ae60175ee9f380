/** What the flags of `tritonts top` ask for. */

import { invalidArgument } from '../../errors.js';
import type { RowChoice } from '../../top/view/rows.js';
import { headersOf } from '../flags/headers.js';
import type { FlagValues } from '../flags/parse-flags.js';

/** Where the server is. */
export type TopPlace =
  | {
      readonly url: string;
      readonly metricsUrl: string | undefined;
      readonly headers: Readonly<Record<string, string>>;
    }
  | { readonly socket: string };

/** See the head of this file. */
export interface TopSettings {
  readonly place: TopPlace;
  readonly timeoutMs: number;
  readonly intervalMs: number;
  readonly choice: RowChoice;
  readonly once: boolean;
  readonly json: boolean;
}

function placeOf(values: FlagValues): TopPlace {
  const given = values.list('url');
  if (given.length > 1)
    throw invalidArgument(`expected one server but received ${given.map((one) => `'${one}'`).join(' and ')}`);
  const text = values.text('url') ?? '';
  const metricsUrl = values.text('metrics-url');
  const headers = headersOf(values.list('header'));
  const socket = /^unix:(?:\/\/)?(?=.)/.test(text)
    ? text.replace(/^unix:(?:\/\/)?/, '')
    : !/^[a-z]+:\/\//i.test(text) && /[/\\]/.test(text)
      ? text
      : undefined;
  if (socket !== undefined) {
    for (const flag of ['metrics-url', 'header'])
      if (values.has(flag))
        throw invalidArgument(`--${flag} needs the URL of a server, and '${text}' is a socket`);
    return { socket };
  }
  const url = /^[a-z]+:\/\//i.test(text) ? text : `http://${text}`;
  if (!/^(https?|grpcs?):\/\//i.test(url) || !URL.canParse(url) || new URL(url).hostname === '')
    throw invalidArgument(
      `expected the URL of a server (http, https, grpc, grpcs) or the path of a socket but received '${text}'`,
    );
  if (metricsUrl !== undefined && (!/^https?:\/\//i.test(metricsUrl) || !URL.canParse(metricsUrl)))
    throw invalidArgument(`expected a URL of http or https for --metrics-url but received '${metricsUrl}'`);
  return { url, metricsUrl, headers };
}

/**
 * Reads the flags.
 *
 * @throws {@link TritonError} INVALID_ARG for flags that do not fit.
 */
export function topSettings(values: FlagValues): TopSettings {
  return {
    place: placeOf(values),
    timeoutMs: Math.round(Number(values.text('timeout')) * 1000),
    intervalMs: Math.round(Number(values.text('interval')) * 1000),
    choice: {
      sort: values.text('sort') ?? 'requests',
      reverse: values.has('reverse'),
      filter: values.text('filter') ?? '',
    },
    once: values.has('once'),
    json: values.has('json'),
  };
}

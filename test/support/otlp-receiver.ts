/** A collector of spans: OTLP over HTTP, in JSON. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import type { Context } from './harness.js';

/** A value of an attribute, in OTLP's JSON. */
interface OtlpValue {
  readonly stringValue?: string;
  readonly intValue?: string | number;
}

interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

/** A span, in OTLP's JSON. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly traceState?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes?: readonly OtlpAttribute[];
  readonly events?: readonly { readonly name: string; readonly timeUnixNano: string }[];
  readonly status?: { readonly code?: number; readonly message?: string };
}

interface OtlpRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string };
      readonly spans: readonly OtlpSpan[];
    }[];
  }[];
}

/** Attributes as an object. */
export function attributesOf(list: readonly OtlpAttribute[] = []): Record<string, string | number> {
  return Object.fromEntries(
    list.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)] as const),
  );
}

/** See the head of this file. */
export interface OtlpReceiver {
  readonly url: string;
  /** The spans so far. */
  readonly spans: OtlpSpan[];
  /** The resource of the last spans. */
  resource: Record<string, string | number>;
  /** The names of the tracers. */
  readonly scopes: Set<string>;
  readonly contentTypes: Set<string>;
  /** The status of answers. */
  status: number;
}

/** Starts a receiver, which ends with the test. */
export async function otlpReceiver(t: Context): Promise<OtlpReceiver> {
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const sent = Buffer.concat(parts);
      const text = (request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent).toString();
      receiver.contentTypes.add(request.headers['content-type'] ?? '');
      if (receiver.status === 200) {
        for (const { resource, scopeSpans } of (JSON.parse(text) as OtlpRequest).resourceSpans) {
          receiver.resource = attributesOf(resource.attributes);
          for (const { scope, spans } of scopeSpans) {
            receiver.scopes.add(scope.name);
            receiver.spans.push(...spans);
          }
        }
      }
      response.writeHead(receiver.status, { 'Content-Type': 'application/json', Connection: 'close' });
      response.end('{}');
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const { port } = server.address() as AddressInfo;
  const receiver: OtlpReceiver = {
    url: `http://127.0.0.1:${port}/v1/traces`,
    ...{ spans: [], resource: {}, scopes: new Set(), contentTypes: new Set(), status: 200 },
  };
  return receiver;
}

/** Spans as a tree of names, one line each, with the names of events, in the order of their starts. */
export function treeOf(spans: readonly OtlpSpan[]): string[] {
  const lines: string[] = [];
  const known = new Set(spans.map(({ spanId }) => spanId));
  const sorted = [...spans].sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)));
  const add = (span: OtlpSpan, depth: number): void => {
    const events = (span.events ?? []).map(({ name }) => name).join(' ');
    lines.push(`${'  '.repeat(depth)}${span.name}: ${events}`);
    for (const child of sorted) if (child.parentSpanId === span.spanId) add(child, depth + 1);
  };
  for (const span of sorted) if (!known.has(span.parentSpanId ?? '')) add(span, 0);
  return lines;
}

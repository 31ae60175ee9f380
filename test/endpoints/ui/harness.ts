/** A server with the page, and a browser that opens it. */

import assert from 'node:assert/strict';
import { after, before, type TestContext } from 'node:test';
import { serveHttp, type ServeHttpOptions } from '../../../src/endpoints/http/serve.js';
import type { InferenceServer } from '../../../src/index.js';
import { testServer, type TestModel, type TestServer } from '../../../src/testing/index.js';
import { startBrowser, type Browser, type Locator, type Page } from './browser.js';

let browser: Browser;

/** Starts a browser for the tests of a suite. */
export function useBrowser(): void {
  before(async () => {
    browser = await startBrowser();
  });
  after(async () => {
    // If it did not start, there is nothing to close.
    await (browser as Browser | undefined)?.close();
  });
}

/** How a page is opened. */
export interface PageOptions {
  readonly scheme?: 'light' | 'dark';
  /** Whether the browser is to refuse something. */
  readonly refuses?: boolean;
  readonly width?: number;
}

/** A page with the address of the server; errors of the page fail the test. */
export async function opened(
  t: TestContext,
  url: string,
  { scheme = 'light', refuses = false, width = 1200 }: PageOptions = {},
): Promise<Page> {
  const context = await browser.newContext({ colorScheme: scheme, viewport: { width, height: 1000 } });
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => {
    // The browser tells there of what it refuses, too.
    if (message.type() === 'error' && !refuses) errors.push(message.text());
  });
  t.after(async () => {
    await context.close();
    // What a server refuses is told in the console, too.
    assert.deepEqual(
      errors.filter((text) => !text.startsWith('Failed to load resource')),
      [],
    );
  });
  await page.goto(url);
  return page;
}

/** The address of an endpoint with the page. */
export async function served(
  t: TestContext,
  server: InferenceServer,
  options: ServeHttpOptions = {},
): Promise<string> {
  const endpoint = await serveHttp(server, { port: 0, ui: true, ...options });
  t.after(() => endpoint.close({ timeoutMs: 0 }));
  return `http://127.0.0.1:${endpoint.address.port}`;
}

/** A tensor of a configuration. */
export const tensor = (name: string, type: string, dims: readonly number[] = [-1]): object => ({
  ...{ name, dims },
  data_type: `TYPE_${type === 'BYTES' ? 'STRING' : type}`,
});

/** A server of one model, and its page. */
export async function modelPage(
  t: TestContext,
  model: TestModel,
  options: PageOptions = {},
): Promise<{ page: Page; server: TestServer }> {
  const server = await testServer({ models: { model } });
  t.after(() => server.close());
  const page = await opened(t, `${await served(t, server)}/ui/`, options);
  await page.getByRole('button', { name: 'model' }).click();
  return { page, server };
}

/** Presses the form's button. */
export const send = (page: Page): Promise<void> => page.getByRole('button', { name: 'Send' }).click();
/** What the form shows of an answer. */
export const answerOf = (page: Page): Locator => page.getByRole('region', { name: 'Answer' });

/** A Chromium without a window, driven by Playwright. */

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { optionalPackage } from '../../support/optional.js';

// Playwright's types need those of the DOM, which would then be there for the whole project. These are the parts that are used.

/** Finds elements. */
interface Finder {
  getByRole(role: string, options?: { readonly name?: string | RegExp }): Locator;
  getByText(text: string | RegExp): Locator;
  getByLabel(text: string): Locator;
  locator(selector: string): Locator;
}

/** Elements of a page. */
export interface Locator extends Finder {
  click(): Promise<void>;
  fill(text: string): Promise<void>;
  focus(): Promise<void>;
  press(key: string): Promise<void>;
  selectOption(value: string): Promise<unknown>;
  setInputFiles(file: {
    readonly name: string;
    readonly mimeType: string;
    readonly buffer: Buffer;
  }): Promise<void>;
  waitFor(options?: { readonly state: 'hidden' }): Promise<void>;
  isChecked(): Promise<boolean>;
  count(): Promise<number>;
  textContent(): Promise<string | null>;
  getAttribute(name: string): Promise<string | null>;
  nth(index: number): Locator;
  first(): Locator;
  filter(options: { readonly hasText: string }): Locator;
}

/** A request that a test answers. */
export interface Route {
  fetch(): Promise<{ json(): Promise<unknown> }>;
  fulfill(options: { readonly json: unknown }): Promise<void>;
}

/** A page. Programs for it are text. */
export interface Page extends Finder {
  readonly keyboard: { press(key: string): Promise<void> };
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  goto(url: string): Promise<unknown>;
  url(): string;
  title(): Promise<string>;
  evaluate(program: string): Promise<unknown>;
  waitForTimeout(ms: number): Promise<void>;
  route(url: string, answer: (route: Route) => Promise<void>): Promise<void>;
  waitForEvent(event: 'download'): Promise<{ path(): Promise<string> }>;
  screenshot(options: { readonly path: string }): Promise<unknown>;
}

/** A context with its own settings. */
export interface BrowserContext {
  newPage(): Promise<Page>;
  close(): Promise<void>;
}

/** A browser. */
export interface Browser {
  newContext(options: {
    readonly colorScheme: 'light' | 'dark';
    readonly viewport: { readonly width: number; readonly height: number };
  }): Promise<BrowserContext>;
  close(): Promise<void>;
}

interface Playwright {
  readonly chromium: {
    launch(options: { readonly executablePath?: string; readonly args: readonly string[] }): Promise<Browser>;
  };
}

const playwright = (await optionalPackage('playwright-core')) as Playwright | undefined;

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The program of a Chromium: that of TRITONTS_CHROMIUM, or one in the path; undefined: there is none. */
export const chromiumProgram: string | undefined =
  process.env['TRITONTS_CHROMIUM'] ??
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .flatMap((folder) => names.map((name) => join(folder, name)))
    .find(isProgram);

/** Why tests with a browser are skipped; undefined: they are not. */
export const noBrowser: string | undefined =
  playwright === undefined
    ? 'playwright-core is not installed'
    : chromiumProgram === undefined
      ? `there is no ${names.join(', ')} in the path (Debian: apt install chromium; or set TRITONTS_CHROMIUM)`
      : undefined;

/** Starts it. */
export function startBrowser(): Promise<Browser> {
  if (playwright === undefined) throw new RangeError('playwright-core is not installed');
  return playwright.chromium.launch({
    ...(chromiumProgram !== undefined && { executablePath: chromiumProgram }),
    // In containers its sandbox needs privileges that tests do not have. The pages are this package's own.
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  });
}

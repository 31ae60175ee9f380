/**
 * Servers for tests: their models are functions, and they need no addon and no runtime.
 *
 * @packageDocumentation
 */

export { testServer, type TestListener, type TestServer, type TestServerOptions } from './test-server.js';
export type { AnswerFunction, TestModel } from './doubles.js';
export type { TestClock } from './clock.js';
export type { RecordedRequest } from './records.js';
export type { FailOptions } from './script.js';
export { assertClose, assertTensor, type ExpectedTensor, type Tolerance } from './assertions.js';

// Calls of the server.

/** Secrets that the user has given, by header. */
const secrets = new Map();

/** Keeps a secret until the page is closed. */
export function useSecret(header, value) {
  secrets.set(header, value);
}

/** The server has refused a call. */
export class Refused extends Error {
  /** @param header - The header of the secret that it wants; undefined: it wants none. */
  constructor(message, header) {
    super(message);
    this.header = header;
  }
}

/**
 * Makes a call below this page. The header `tritonts-ui` is what other sites cannot send.
 *
 * @throws {Refused} For another status than 2xx.
 */
export async function call(path, options = {}) {
  const { timeoutMs, ...others } = options;
  const response = await fetch(path, {
    ...others,
    ...(timeoutMs !== undefined && { signal: AbortSignal.timeout(timeoutMs) }),
    headers: { 'tritonts-ui': '1', ...Object.fromEntries(secrets), ...others.headers },
    credentials: 'same-origin',
    cache: 'no-store',
  });
  if (!response.ok) throw refusedBy(response.status, await response.text());
  return response;
}

/** {@link call}, for an answer in JSON without numbers that JavaScript would round. */
export async function callJson(path, options) {
  const response = await call(path, options);
  return response.json();
}

function refusedBy(status, text) {
  let message = text || `status ${status}`;
  try {
    // A stream has its error in an event.
    message = JSON.parse(text.replace(/^data: /, '')).error ?? message;
  } catch {
    // It is the message as it is.
  }
  return new Refused(message, status === 403 ? /expecting header '([^']+)'/.exec(message)?.[1] : undefined);
}

/** The path of a model's calls. */
export const modelPath = (model, version) =>
  `v2/models/${encodeURIComponent(model)}${version === undefined ? '' : `/versions/${version}`}`;

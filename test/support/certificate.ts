/** A certificate for localhost, signed by itself, and its key. */

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from './repository.js';
import type { Context } from './harness.js';

/** Makes a certificate with openssl. Without openssl the test is skipped, and this returns undefined. */
export async function certificate(
  t: Context & { skip(message: string): void },
): Promise<{ key: Buffer; cert: Buffer } | undefined> {
  const folder = await temporaryFolder(t);
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  try {
    execFileSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
        ...[
          '-subj',
          '/CN=localhost',
          '-addext',
          'subjectAltName=DNS:localhost',
          '-keyout',
          key,
          '-out',
          cert,
        ],
      ],
      { stdio: 'ignore' },
    );
  } catch {
    t.skip('there is no openssl to make a certificate with');
    return undefined;
  }
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

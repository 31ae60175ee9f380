/** Real servers of object stores for tests: `npm test -- stores` installs them. Each ends with its test. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { BlobServiceClient, StorageSharedKeyCredential } from '@azure/storage-blob';
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  UploadPartCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  PutObjectCommand,
  S3Client,
} from '@aws-sdk/client-s3';
import { temporaryFolder } from '../support/repository.js';
import { ServerProcess } from '../support/server-process.js';

const place = fileURLToPath(new URL('../../../build/stores', import.meta.url));
const programs: Readonly<Record<'s3' | 'gs' | 'as', string>> = {
  s3: join(place, 'bin', 'versitygw'),
  gs: join(place, 'bin', 'fake-gcs-server'),
  as: join(place, 'node_modules', 'azurite', 'dist', 'src', 'blob', 'main.js'),
};

/** Why the tests of a store cannot run; false: they can. */
export function without(scheme: 's3' | 'gs' | 'as'): string | false {
  return existsSync(programs[scheme])
    ? false
    : `${programs[scheme]} is missing: npm test -- stores installs it`;
}

/** A store for a test, with one bucket. */
export interface TestStore {
  /** What the addresses of its repositories begin with, up to the bucket. */
  readonly address: string;
  readonly port: number;
  /** Where the bucket's objects are files, if they are. */
  readonly folder: string;
  put(key: string, content: string | Uint8Array): Promise<void>;
  remove(key: string): Promise<void>;
  /** Ends it, as a crash does. */
  kill(): Promise<void>;
  restart(): Promise<void>;
  /** Of S3: restarts it with another secret for its key. */
  readonly rotate?: (secret: string) => Promise<void>;
  /** Of S3: uploads an object in parts, whose etag is no MD5 of its content. */
  readonly putParts?: (
    key: string,
    parts: readonly Uint8Array[],
    /** That of the checksums which the store then has of the parts. */
    algorithm?: 'CRC32' | 'CRC32C' | 'SHA256',
  ) => Promise<void>;
}

/** The credentials of {@link startS3}. */
export const s3Key = { id: 'test-key-id', secret: 'the-secret-of-the-test' } as const;

/** Starts versitygw on a folder. */
export async function startS3(t: TestContext): Promise<TestStore> {
  const folder = await temporaryFolder(t);
  const [data, side] = [join(folder, 'data'), join(folder, 'side')];
  for (const one of [data, side]) await mkdir(one);
  let { secret }: { secret: string } = s3Key;
  const server = await ServerProcess.start(t, (port) =>
    spawn(
      programs.s3,
      [
        '--access',
        s3Key.id,
        '--secret',
        secret,
        '--port',
        `127.0.0.1:${port}`,
        '--keep-alive',
        '--quiet',
      ].concat(['posix', '--sidecar', side, '--default-etag', 'of-a-file', data]),
      { stdio: 'ignore' },
    ),
  );
  const client = new S3Client({
    endpoint: `http://127.0.0.1:${server.port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    credentials: { accessKeyId: s3Key.id, secretAccessKey: s3Key.secret },
  });
  t.after(() => {
    client.destroy();
  });
  const Bucket = 'models';
  await client.send(new CreateBucketCommand({ Bucket }));
  return {
    address: `s3://127.0.0.1:${server.port}/${Bucket}`,
    port: server.port,
    folder: join(data, Bucket),
    rotate: async (other) => {
      secret = other;
      await server.kill();
      await server.restart();
    },
    putParts: async (Key, parts, algorithm) => {
      const checksum = algorithm && { ChecksumAlgorithm: algorithm };
      const kind = algorithm && { ...checksum, ChecksumType: 'COMPOSITE' as const };
      const { UploadId } = await client.send(new CreateMultipartUploadCommand({ Bucket, Key, ...kind }));
      const upload = { Bucket, Key, UploadId };
      const Parts = await Promise.all(
        parts.map(async (Body, i) => {
          const PartNumber = i + 1;
          const part = await client.send(new UploadPartCommand({ ...upload, ...checksum, PartNumber, Body }));
          const { ETag, ChecksumCRC32, ChecksumCRC32C, ChecksumSHA256 } = part;
          const sums = algorithm && { ChecksumCRC32, ChecksumCRC32C, ChecksumSHA256 };
          return { ETag, PartNumber, ...sums };
        }),
      );
      await client.send(new CompleteMultipartUploadCommand({ ...upload, MultipartUpload: { Parts } }));
    },
    put: async (Key, content) =>
      void (await client.send(new PutObjectCommand({ Bucket, Key, Body: content }))),
    remove: async (Key) => void (await client.send(new DeleteObjectCommand({ Bucket, Key }))),
    kill: () => server.kill(),
    restart: () => server.restart(),
  };
}

/** Starts fake-gcs-server with its objects in memory. */
export async function startGcs(t: TestContext): Promise<TestStore> {
  const server = await ServerProcess.start(t, (port) =>
    spawn(
      programs.gs,
      ['-scheme', 'http', '-host', '127.0.0.1', '-port', String(port), '-backend', 'memory'].concat([
        '-public-host',
        `127.0.0.1:${port}`,
      ]),
      { stdio: 'ignore' },
    ),
  );
  const base = `http://127.0.0.1:${server.port}`;
  const post = async (path: string, body: string | Uint8Array, type: string): Promise<void> => {
    const answer = await fetch(`${base}${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : Buffer.from(body),
      headers: { 'content-type': type },
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  await post('/storage/v1/b?project=test', '{"name":"models"}', 'application/json');
  return {
    address: 'gs://models',
    port: server.port,
    folder: '',
    put: (key, content) =>
      post(
        `/upload/storage/v1/b/models/o?uploadType=media&name=${encodeURIComponent(key)}`,
        content,
        'application/octet-stream',
      ),
    remove: async (key) => {
      await fetch(`${base}/storage/v1/b/models/o/${encodeURIComponent(key)}`, { method: 'DELETE' });
    },
    kill: () => server.kill(),
    restart: () => server.restart(),
  };
}

/** The account that azurite knows, with its published key. */
export const azuriteAccount = {
  name: 'devstoreaccount1',
  key: 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==',
} as const;

/** Starts azurite. */
export async function startAzure(t: TestContext): Promise<TestStore> {
  const folder = await temporaryFolder(t);
  const server = await ServerProcess.start(t, (port) =>
    spawn(
      process.execPath,
      [programs.as, '--blobHost', '127.0.0.1', '--blobPort', String(port), '--location', folder].concat([
        '--silent',
        '--skipApiVersionCheck',
        '--disableTelemetry',
      ]),
      { stdio: 'ignore' },
    ),
  );
  const endpoint = `http://127.0.0.1:${server.port}/${azuriteAccount.name}`;
  const container = new BlobServiceClient(
    endpoint,
    new StorageSharedKeyCredential(azuriteAccount.name, azuriteAccount.key),
  ).getContainerClient('models');
  await container.create();
  return {
    address: `as://127.0.0.1:${server.port}/${azuriteAccount.name}/models`,
    port: server.port,
    folder: '',
    put: async (key, content) => {
      const bytes = Buffer.from(content);
      await container.getBlockBlobClient(key).upload(bytes, bytes.length);
    },
    remove: async (key) => void (await container.deleteBlob(key)),
    kill: () => server.kill(),
    restart: () => server.restart(),
  };
}

/** Adds objects without content, some at a time. */
export async function putMany(store: TestStore, count: number, key: (i: number) => string): Promise<void> {
  for (let at = 0; at < count; at += 50) {
    const some = Array.from({ length: Math.min(50, count - at) }, (_, i) => key(at + i));
    await Promise.all(some.map((one) => store.put(one, '')));
  }
}

/** The environment in which the server's key counts, and nothing that this machine may have. */
export const s3Environment: Readonly<Record<string, string | undefined>> = {
  AWS_ACCESS_KEY_ID: s3Key.id,
  AWS_SECRET_ACCESS_KEY: s3Key.secret,
  AWS_SESSION_TOKEN: undefined,
  AWS_DEFAULT_REGION: undefined,
  AWS_REGION: undefined,
  AWS_PROFILE: undefined,
  TRITON_CLOUD_CREDENTIAL_PATH: undefined,
};

/** Runs a process that serves a repository, closes its server, and has to end by itself. Returns its exit code. */
export async function exitOf(t: TestContext, address: string): Promise<number | null> {
  const library = JSON.stringify(new URL('../../src/index.js', import.meta.url).href);
  const code = `
    const { createServer } = await import(${library});
    const options = { repositoryCacheDirectory: process.argv[2] };
    await (await createServer(process.argv[1], options)).close();`;
  const args = ['--input-type=module', '-e', code, address, await temporaryFolder(t)];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const [exit] = (await once(child, 'close')) as [number | null];
  return exit;
}

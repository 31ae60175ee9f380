/** S3 and what speaks its protocol, through the npm package `@aws-sdk/client-s3`, an optional peer dependency. */

import { Readable } from 'node:stream';
import {
  GetObjectCommand,
  ListObjectsV2Command,
  S3Client,
  type GetObjectCommandOutput,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { invalidArgument } from '../../../errors.js';
import { crc32Check, hashCheck, md5Check } from './content-checks.js';
import type { StoreCredentials } from './credentials.js';
import type {
  ContentCheck,
  ObjectBody,
  ObjectStore,
  StoredObject,
  StoreFault,
  StorePage,
} from './object-store.js';
import { silenceMs } from './retries.js';
import { faultOfCall, PassingFault } from './store-faults.js';
import type { StorePlace } from './store-place.js';

/** Where neither the credentials nor a profile name a region. */
const otherwiseRegion = 'us-east-1';

/** Requests at once, with some more for listings. */
const mostSockets = 32;

/** A connection that is not used is closed after so long. */
const agent = { keepAlive: true, maxSockets: mostSockets, timeout: silenceMs };

/** The package warns of keys in the environment beside a profile, which the documentation says already. */
const ignore = (): void => undefined;
const quiet = { debug: ignore, info: ignore, warn: ignore, error: ignore };

/** The client's option for profiles that may have other keys by now, which its types leave out. */
const freshProfiles: object = { ignoreCache: true };

/**
 * Makes a store. It asks nothing of it yet.
 *
 * @throws {@link TritonError} INVALID_ARG for one half of a pair of keys.
 */
export async function openS3(place: StorePlace, credentials: StoreCredentials): Promise<ObjectStore> {
  const { get } = credentials;
  const [keyId, secret, token] = [get('key_id'), get('secret_key'), get('session_token')];
  if ((keyId === undefined) !== (secret === undefined)) {
    const [has, lacks] = keyId === undefined ? ['secret', 'id'] : ['id', 'secret'];
    throw invalidArgument(
      `model repository '${place.url}': expected the id of a key and its secret, or neither, but ${credentials.from} has the ${has} without the ${lacks}`,
    );
  }
  const named = keyId === undefined ? get('profile') : undefined;
  // With a profile the client's chain leaves the keys of the environment out, which do not count beside a file.
  const isChain = keyId === undefined && named === undefined;
  const profile = isChain && credentials.isOfFile ? 'default' : named;
  const common: S3ClientConfig = {
    // Retries are made in one place for all stores.
    maxAttempts: 1,
    requestHandler: {
      httpAgent: agent,
      httpsAgent: agent,
    },
    ...freshProfiles,
    ...(credentials.isOfFile && { logger: quiet }),
    ...(place.endpoint !== undefined && { endpoint: place.endpoint }),
    forcePathStyle: place.endpoint !== undefined || place.bucket.includes('.'),
    ...(keyId !== undefined &&
      secret !== undefined && {
        credentials: {
          accessKeyId: keyId,
          secretAccessKey: secret,
          ...(token !== undefined && { sessionToken: token }),
        },
      }),
    ...(profile !== undefined && { profile }),
  };
  const given = get('region');
  // The package looks into the environment, too, which does not count beside a file with credentials.
  const isAlone = credentials.isOfFile && named === undefined;
  const region = given ?? (isAlone ? undefined : await ownRegion(common)) ?? otherwiseRegion;
  const client = new S3Client({ ...common, region });
  const used = [
    ...(place.endpoint === undefined ? endpointOfEnvironment() : [`endpoint ${place.endpoint}`]),
    `region ${region}`,
    keyId !== undefined
      ? `key id ${keyId} of ${credentials.from}`
      : named !== undefined
        ? `profile '${named}' of ${credentials.from}`
        : `the client's default chain of credentials${credentials.isOfFile ? `, as ${credentials.from} has no key` : ''}`,
  ].join(', ');
  return new S3Store(client, place.bucket, used);
}

/** What messages say of an endpoint that the package takes from the environment: no user, no password. */
function endpointOfEnvironment(): string[] {
  for (const name of ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL']) {
    const value = process.env[name];
    if (value !== undefined && value !== '')
      return [`endpoint ${URL.canParse(value) ? new URL(value).origin : 'that is no URL'} of ${name}`];
  }
  return [];
}

/** The region of the profile; undefined if it has none. */
async function ownRegion(config: S3ClientConfig): Promise<string | undefined> {
  const client = new S3Client(config);
  try {
    return await client.config.region();
  } catch {
    return undefined;
  } finally {
    client.destroy();
  }
}

class S3Store implements ObjectStore {
  readonly used: string;
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(client: S3Client, bucket: string, used: string) {
    this.#client = client;
    this.#bucket = bucket;
    this.used = used;
  }

  async page(
    prefix: string,
    isDeep: boolean,
    next: string | undefined,
    signal: AbortSignal,
  ): Promise<StorePage> {
    const found = await this.#client.send(
      new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: prefix,
        // XML has no control characters, and keys may have some.
        EncodingType: 'url',
        ...(!isDeep && { Delimiter: '/' }),
        ...(next !== undefined && { ContinuationToken: next }),
      }),
      { abortSignal: signal },
    );
    // Not what a proxy says with status 200: without models everything would be unloaded.
    if (found.IsTruncated === undefined) throw new PassingFault('an answer that is not a listing');
    if (found.IsTruncated && !found.NextContinuationToken)
      throw new PassingFault('a part of a listing that does not say where the next one begins');
    const isEncoded = found.EncodingType === 'url';
    const keyOf = (key = ''): string => (isEncoded ? decodeURIComponent(key.replaceAll('+', ' ')) : key);
    return {
      objects: (found.Contents ?? []).map(({ Key, Size = 0, ETag = '' }) => {
        if (ETag === '') throw new Error('it lists objects without etags, which tell of changes');
        return { key: keyOf(Key), size: Size, stamp: ETag };
      }),
      folders: (found.CommonPrefixes ?? []).map(({ Prefix }) => keyOf(Prefix)),
      next: found.IsTruncated ? found.NextContinuationToken : undefined,
    };
  }

  async read({ key, size, stamp }: StoredObject, from: number, signal: AbortSignal): Promise<ObjectBody> {
    const found = await this.#client.send(
      new GetObjectCommand({
        Bucket: this.#bucket,
        Key: key,
        IfMatch: stamp,
        // The client compares the checksums that a store may have of the whole.
        ...(from === 0 ? { ChecksumMode: 'ENABLED' } : { Range: `bytes=${from}-` }),
      }),
      { abortSignal: signal },
    );
    const { Body: body, ETag: etag, ContentLength: length, ServerSideEncryption: encryption } = found;
    if (body === undefined) throw new PassingFault('an answer without a body');
    if (!(body instanceof Readable))
      throw new TypeError('expected a stream of Node as the body of an answer');
    // A store may know no conditions, and no ranges.
    const isOther =
      (etag !== undefined && etag !== stamp) || (length !== undefined && length !== size - from);
    if (isOther) {
      // Its connection is for other requests again, or is closed.
      body.on('error', () => undefined).destroy();
      throw new ChangedError();
    }
    const isEncrypted = encryption?.startsWith('aws:kms') === true;
    const check = (isEncrypted ? undefined : checkOf(stamp)) ?? checkOfAnswer(found);
    const isComparedWhole = !check && [found.ChecksumCRC32C, found.ChecksumCRC64NVME].some(isOfWhole);
    return { chunks: body, check, isComparedWhole };
  }

  close(): void {
    this.#client.destroy();
  }

  faultOf(error: unknown): StoreFault {
    if (error instanceof ChangedError)
      return { kind: 'changed', text: 'it has another etag or size than before' };
    const code = error instanceof Error && error.name !== 'Error' ? error.name : '';
    const fault = faultOfCall(error, { status: statusOf(error), code });
    // The client compares checksums that are not the etag.
    if (fault.text.startsWith('Checksum mismatch'))
      return { kind: 'passing', text: fault.text, isDamage: true };
    if (code === 'CredentialsProviderError') return { ...fault, kind: 'refused' };
    const region = regionOf(error);
    return region === undefined
      ? fault
      : { ...fault, text: `${fault.text}; the bucket is in the region ${region}` };
  }
}

class ChangedError extends Error {}

/** An etag is the MD5 of an object that was written at once. */
function checkOf(etag: string): ContentCheck | undefined {
  const [, hex] = /^"?([\da-f]{32})"?$/i.exec(etag) ?? [];
  return hex === undefined ? undefined : md5Check(Buffer.from(hex, 'hex').toString('base64'));
}

/** What the client compares only if no connection breaks. */
function checkOfAnswer({
  ChecksumSHA256: sha256,
  ChecksumSHA1: sha1,
  ChecksumCRC32: crc32,
}: GetObjectCommandOutput): ContentCheck | undefined {
  if (isOfWhole(sha256)) return hashCheck('sha256', sha256);
  if (isOfWhole(sha1)) return hashCheck('sha1', sha1);
  return isOfWhole(crc32) ? crc32Check(crc32) : undefined;
}

/** A checksum of the checksums of parts has the number of these at its end. */
function isOfWhole(checksum: string | undefined): checksum is string {
  return checksum !== undefined && /^[\w+/]+=*$/.test(checksum);
}

/** What the client's errors have. All of it may be absent. */
interface ClientError extends Error {
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly statusCode?: number; readonly headers?: Readonly<Record<string, string>> };
  readonly Region?: string;
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined;
  const { $metadata: metadata, $response: response } = error as ClientError;
  return metadata?.httpStatusCode ?? response?.statusCode;
}

function regionOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { $response: response, Region: region } = error as ClientError;
  return region ?? response?.headers?.['x-amz-bucket-region'];
}

/** S3 and what speaks its protocol, through the npm package `@aws-sdk/client-s3`, an optional peer dependency. */

import { Readable } from 'node:stream';
import {
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  S3Client,
  type HeadObjectCommandOutput,
  type S3ClientConfig,
} from '@aws-sdk/client-s3';
import { invalidArgument } from '../../../errors.js';
import { contentCheck, partsCheck, type ChecksumAlgorithm } from './content-checks.js';
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

/** How many parts an object may have, of how many each is asked for, and how many at once. */
const mostParts = 10_000;
const mostAsked = 100;
const askedAtOnce = 8;

/** Statuses of stores that know no parts. */
const unknownQuestion: ReadonlySet<number> = new Set([400, 405, 416, 501]);

/** What answers have of checksums. */
type Checksums = Pick<
  HeadObjectCommandOutput,
  'ChecksumSHA256' | 'ChecksumSHA1' | 'ChecksumCRC32C' | 'ChecksumCRC32'
>;

/** A connection that is not used is closed after so long. Requests at once are bounded in one place for all stores. */
const agent = { keepAlive: true, maxSockets: Infinity, timeout: silenceMs };

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
  /** Objects whose parts may have any size. */
  readonly #uneven: WeakSet<StoredObject> = new WeakSet();
  /** What was asked for of the sizes of their parts, by number: the next try does not ask again. */
  readonly #sizes: WeakMap<StoredObject, Map<number, number>> = new WeakMap();

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

  async read(
    object: StoredObject,
    from: number,
    signal: AbortSignal,
    alive: () => void,
  ): Promise<ObjectBody> {
    const { key, size, stamp } = object;
    // Before the answer holds a connection.
    const partsChecked = from === 0 ? await this.#partsCheckOf(object, signal, alive) : undefined;
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
    const check = (isEncrypted ? undefined : checkOf(stamp)) ?? checkOfAnswer(found) ?? partsChecked;
    const isComparedWhole = !check && isOfWhole(found.ChecksumCRC64NVME);
    return { chunks: body, check, isComparedWhole };
  }

  /** Compares an object that was uploaded in parts with the checksum of their checksums; undefined: it has none. */
  async #partsCheckOf(
    object: StoredObject,
    signal: AbortSignal,
    alive: () => void,
  ): Promise<ContentCheck | undefined> {
    const count = partsOf(object.stamp);
    if (count === undefined) return undefined;
    const [algorithm, wanted] = checksumOfParts(await this.#head(object, undefined, signal), count) ?? [];
    if (algorithm === undefined || wanted === undefined) return undefined;
    const sizes = await this.#sizesOf(object, count, signal, alive);
    if (sizes?.reduce((sum, one) => sum + one, 0) !== object.size) return undefined;
    const check = partsCheck(algorithm, wanted, sizes);
    return {
      update: (bytes) => {
        check.update(bytes);
      },
      matches: () => {
        const isSame = check.matches();
        // Its parts may be of other sizes than the first and the last one show. The next try asks for all, unless there are too
        // many: then it counts as damaged.
        if (!isSame && count <= mostAsked) this.#uneven.add(object);
        return isSame;
      },
    };
  }

  /** The sizes of an object's parts; undefined: the store does not tell, or each of too many would have to be asked for. */
  async #sizesOf(
    object: StoredObject,
    count: number,
    signal: AbortSignal,
    alive: () => void,
  ): Promise<number[] | undefined> {
    const known = this.#sizes.get(object) ?? new Map<number, number>();
    this.#sizes.set(object, known);
    const sizeOf = async (number: number): Promise<number | undefined> => {
      const before = known.get(number);
      if (before !== undefined) return before;
      const part = await this.#head(object, number, signal);
      // Many answers may take longer than one may.
      alive();
      if (part?.PartsCount !== count || part.ContentLength === undefined) return undefined;
      known.set(number, part.ContentLength);
      return part.ContentLength;
    };
    const first = await sizeOf(1);
    if (first === undefined) return undefined;
    if (!this.#uneven.has(object)) {
      const last = object.size - first * (count - 1);
      if ((await sizeOf(count)) === last) return [...Array<number>(count - 1).fill(first), last];
    }
    if (count > mostAsked) return undefined;
    const sizes = [first];
    while (sizes.length < count) {
      const some = Math.min(askedAtOnce, count - sizes.length);
      const next = await Promise.all(Array.from({ length: some }, (_, i) => sizeOf(sizes.length + i + 1)));
      for (const size of next) {
        if (size === undefined) return undefined;
        sizes.push(size);
      }
    }
    return sizes;
  }

  /** What the store tells of an object, or of a part of it; undefined if it does not know the question. */
  async #head(
    { key, stamp }: StoredObject,
    part: number | undefined,
    signal: AbortSignal,
  ): Promise<HeadObjectCommandOutput | undefined> {
    const asked = { Bucket: this.#bucket, Key: key, IfMatch: stamp };
    const about = part === undefined ? { ChecksumMode: 'ENABLED' as const } : { PartNumber: part };
    try {
      return await this.#client.send(new HeadObjectCommand({ ...asked, ...about }), { abortSignal: signal });
    } catch (error) {
      const status = statusOf(error) ?? 0;
      if (status === 404 || status === 412) throw new ChangedError();
      if (unknownQuestion.has(status)) return undefined;
      throw error;
    }
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
  return hex === undefined ? undefined : contentCheck('md5', Buffer.from(hex, 'hex').toString('base64'));
}

/** How many parts an object has, whose etag then ends with their number; undefined: it was written at once. */
function partsOf(etag: string): number | undefined {
  const [, digits] = /-(\d{1,5})"?$/.exec(etag) ?? [];
  const count = Number(digits ?? 0);
  return count > 0 && count <= mostParts ? count : undefined;
}

/** The checksums that the store may have, the strongest first. */
function checksumsOf(answer: Checksums): readonly (readonly [ChecksumAlgorithm, string | undefined])[] {
  return [
    ['sha256', answer.ChecksumSHA256],
    ['sha1', answer.ChecksumSHA1],
    ['crc32c', answer.ChecksumCRC32C],
    ['crc32', answer.ChecksumCRC32],
  ];
}

/** The checksum of the checksums of so many parts, in base64. */
function checksumOfParts(
  answer: Checksums | undefined,
  count: number,
): readonly [ChecksumAlgorithm, string] | undefined {
  for (const [algorithm, value] of answer ? checksumsOf(answer) : []) {
    if (value?.endsWith(`-${count}`) === true) return [algorithm, value.slice(0, value.lastIndexOf('-'))];
  }
  return undefined;
}

/** The client compares it only if no connection breaks. */
function checkOfAnswer(answer: Checksums): ContentCheck | undefined {
  for (const [algorithm, value] of checksumsOf(answer))
    if (isOfWhole(value)) return contentCheck(algorithm, value);
  return undefined;
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

/** Azure Blob Storage, through the npm package `@azure/storage-blob`, an optional peer dependency. */

import { Readable } from 'node:stream';
import type {
  DefaultAzureCredential as DefaultCredential,
  ManagedIdentityCredential as ManagedCredential,
  TokenCredential,
} from '@azure/identity';
import {
  AnonymousCredential,
  BlobServiceClient,
  StorageSharedKeyCredential,
  type BlobItem,
  type ContainerClient,
} from '@azure/storage-blob';
import { TritonError, unavailable } from '../../../errors.js';
import { thrownText } from '../../../thrown-text.js';
import { contentCheck } from './content-checks.js';
import type { StoreCredentials } from './credentials.js';
import type { ObjectBody, ObjectStore, StoredObject, StoreFault, StorePage } from './object-store.js';
import { faultOfCall, PassingFault } from './store-faults.js';
import type { StorePlace } from './store-place.js';

/** How many objects a page has. */
const pageSize = 1000;

/** What is used of the package `@azure/identity`, which only some credentials need. */
interface IdentityPackage {
  readonly DefaultAzureCredential: typeof DefaultCredential;
  readonly ManagedIdentityCredential: typeof ManagedCredential;
}

/** A credential for the package, and what messages say of it. */
interface Login {
  readonly credential: StorageSharedKeyCredential | AnonymousCredential | TokenCredential;
  readonly text: string;
}

/**
 * Makes a store. It asks nothing of it yet.
 *
 * @throws {@link TritonError} INVALID_ARG for credentials that are none, UNAVAILABLE without a package that they need.
 */
export async function openAzure(place: StorePlace, credentials: StoreCredentials): Promise<ObjectStore> {
  const account = credentials.get('account_str') ?? place.account ?? '';
  // As in Triton an account that is given counts before that of the address, but a host with a port is that of a test server.
  const isOther = account !== place.account && place.endpoint?.endsWith(`/${place.account ?? ''}`) !== true;
  const own = isOther ? undefined : place.endpoint;
  const url = own ?? `https://${account}.blob.core.windows.net`;
  const { credential, text } = await loginOf(place, account, credentials);
  const service = new BlobServiceClient(url, credential, {
    // Retries are made in one place for all stores.
    retryOptions: { maxTries: 1 },
  });
  const used = `endpoint ${url}, account '${account}', ${text}`;
  return new AzureStore(service.getContainerClient(place.bucket), used);
}

async function loginOf(place: StorePlace, account: string, { get, from }: StoreCredentials): Promise<Login> {
  const key = get('account_key');
  const client = get('client_id');
  const type = get('auth_type') ?? (key === undefined ? 'anonymous' : 'key');
  const refuse = (text: string): TritonError =>
    new TritonError('INVALID_ARG', `model repository '${place.url}': ${text} in ${from}`);
  switch (type) {
    case 'key':
      if (key === undefined) throw refuse('auth type key, and no key of an account,');
      return { credential: new StorageSharedKeyCredential(account, key), text: `a key of ${from}` };
    case 'anonymous':
      return { credential: new AnonymousCredential(), text: 'no credentials' };
    case 'managed_identity': {
      const { ManagedIdentityCredential } = await identity(place);
      const credential =
        client === undefined ? new ManagedIdentityCredential() : new ManagedIdentityCredential(client);
      return { credential, text: `the managed identity${client === undefined ? '' : ` ${client}`}` };
    }
    case 'default': {
      const { DefaultAzureCredential } = await identity(place);
      const options = client === undefined ? {} : { managedIdentityClientId: client };
      return {
        credential: new DefaultAzureCredential(options),
        text: "the client's default chain of credentials",
      };
    }
    default:
      throw refuse(`expected key, managed_identity or default as auth type but received '${type}'`);
  }
}

async function identity(place: StorePlace): Promise<IdentityPackage> {
  return await import('@azure/identity').catch((cause: unknown) => {
    const text = `model repository '${place.url}' needs the package @azure/identity for this auth type, which cannot be imported (${thrownText(cause)}): npm install @azure/identity`;
    throw unavailable('MISSING', text, { cause });
  });
}

class AzureStore implements ObjectStore {
  readonly used: string;
  readonly #container: ContainerClient;

  constructor(container: ContainerClient, used: string) {
    this.#container = container;
    this.used = used;
  }

  async page(
    prefix: string,
    isDeep: boolean,
    next: string | undefined,
    signal: AbortSignal,
  ): Promise<StorePage> {
    const options = { prefix, abortSignal: signal };
    const settings = { maxPageSize: pageSize, ...(next !== undefined && { continuationToken: next }) };
    // One page at a time: the tries of each are counted.
    try {
      if (isDeep) {
        for await (const page of this.#container.listBlobsFlat(options).byPage(settings)) return pageOf(page);
      } else {
        for await (const page of this.#container.listBlobsByHierarchy('/', options).byPage(settings))
          return pageOf(page);
      }
    } catch (error) {
      // The package stumbles over what is no listing.
      throw error instanceof TypeError ? new PassingFault('an answer that is not a listing') : error;
    }
    return noPage;
  }

  async read({ key, stamp }: StoredObject, from: number, signal: AbortSignal): Promise<ObjectBody> {
    const found = await this.#container.getBlobClient(key).download(from, undefined, {
      abortSignal: signal,
      maxRetryRequests: 0,
      conditions: { ifMatch: `"${stamp}"` },
    });
    const { readableStreamBody: body, contentMD5, blobContentMD5 } = found;
    if (!(body instanceof Readable)) throw new PassingFault('an answer without a body');
    // An object that was written in parts has none, and that of a part is no use.
    const md5 = blobContentMD5 ?? (from === 0 ? contentMD5 : undefined);
    return { chunks: body, check: md5 && contentCheck('md5', Buffer.from(md5).toString('base64')) };
  }

  faultOf(error: unknown): StoreFault {
    // Its errors have these, and anything may be thrown.
    const { statusCode, code } = (error instanceof Error ? error : {}) as Partial<
      Record<'statusCode' | 'code', unknown>
    >;
    const status = typeof statusCode === 'number' ? statusCode : undefined;
    const name = typeof code === 'string' ? code : '';
    const fault = faultOfCall(error, { status, code: name });
    const isUnknownHost = /ENOTFOUND/.test(fault.text);
    return name === 'REQUEST_SEND_ERROR' && !isUnknownHost ? { ...fault, kind: 'passing' } : fault;
  }
}

const noPage: StorePage = { objects: [], folders: [], next: undefined };

/** What the package makes of an answer. Of one that is no listing it has less than its types say. */
interface Page {
  readonly continuationToken?: string;
  readonly containerName?: string;
  readonly segment: {
    readonly blobItems: readonly Pick<BlobItem, 'name' | 'properties'>[];
    readonly blobPrefixes?: readonly { readonly name: string }[];
  };
}

function pageOf(page: Page): StorePage {
  if (page.containerName === undefined) throw new PassingFault('an answer that is not a listing');
  const { continuationToken: token, segment } = page;
  return {
    objects: segment.blobItems.map(({ name, properties: { contentLength = 0, etag } }) => ({
      key: name,
      size: contentLength,
      stamp: bare(etag),
    })),
    folders: (segment.blobPrefixes ?? []).map(({ name }) => name),
    next: token === '' ? undefined : token,
  };
}

/** Listings have etags without quotes, and answers have them with quotes. */
function bare(etag: string): string {
  return etag.replaceAll('"', '');
}

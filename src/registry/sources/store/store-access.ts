/** Asks a store for a repository: with its credentials, a bound on requests at once, tries, and errors in words. */

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { addAbortSignal } from 'node:stream';
import { TritonError, unavailable } from '../../../errors.js';
import { lazy } from '../../../lazy.js';
import { printableLine } from '../../../printable.js';
import { thrownText } from '../../../thrown-text.js';
import { credentialsFor, type StoreCredentials } from './credentials.js';
import {
  mostObjects,
  type ContentCheck,
  type ObjectStore,
  type StoredObject,
  type StoreFault,
} from './object-store.js';
import { orAborted } from '../../../signals.js';
import { insistently, StoreCallError, type Try } from './retries.js';
import { Slots } from './slots.js';
import { PassingFault } from './store-faults.js';
import type { StorePlace, StoreScheme } from './store-place.js';

type OpenStore = (place: StorePlace, credentials: StoreCredentials) => Promise<ObjectStore>;

/** A kind of store: the package that it needs, and what messages call it. */
interface StoreKind {
  readonly title: string;
  readonly needs: string;
  readonly open: () => Promise<OpenStore>;
}

/** No package is imported before its store is asked for something. */
const kinds: Readonly<Record<StoreScheme, StoreKind>> = {
  s3: {
    title: 'S3 filesystem',
    needs: '@aws-sdk/client-s3',
    open: lazy(async () => (await import('./s3.js')).openS3),
  },
  gs: {
    title: 'GCS',
    needs: '@google-cloud/storage',
    open: lazy(async () => (await import('./gcs.js')).openGcs),
  },
  as: {
    title: 'Azure filesystem',
    needs: '@azure/storage-blob',
    open: lazy(async () => (await import('./azure.js')).openAzure),
  },
};

/** How many downloads of a repository run at once, and how many if each further one is the only one of its model. */
const mostDownloads = 16;
const mostDownloadsOfMany = 32;

/**
 * How many listings of its models do, and how many of its configurations are read, and how many if each further one is the only
 * one of its model. They wait for no large file, and the listing of the repository itself waits for none of these.
 */
const mostListings = 8;
const mostListingsOfMany = 32;

/** How long one try of a small object may take, however often something comes. */
const smallMs = 60_000;

/** How many pages a listing may have: a store may send empty ones. */
const mostPages = 16_384;

/** After so many bytes of an object the tries count anew. */
const forwardBytes = 2 ** 20;

interface Opened {
  readonly store: ObjectStore;
  /** Whether the credentials may be other ones by now. */
  readonly mayChange: boolean;
  /** Calls that use it. */
  users: number;
  isReplaced: boolean;
}

/** What a download has written. */
export interface Downloaded {
  /** The digest of its content, in hexadecimal digits. */
  readonly sha256: string;
  /** Whether it was compared with a checksum of the store. Its size was in any case. */
  readonly isCompared: boolean;
}

/** What a listing has found. */
export interface Found {
  readonly objects: readonly StoredObject[];
  readonly folders: readonly string[];
}

/** See the head of this file. */
export class StoreAccess {
  readonly place: StorePlace;
  readonly #downloads: Slots = new Slots(mostDownloads, mostDownloadsOfMany);
  readonly #listings: Slots = new Slots(mostListings, mostListingsOfMany);
  readonly #smalls: Slots = new Slots(mostListings, mostListingsOfMany);
  readonly #ofRepository: Slots = new Slots(mostListings);
  #opened: Promise<Opened> | undefined;

  constructor(place: StorePlace) {
    this.place = place;
  }

  /**
   * All objects below a prefix, or those of one level with its folders.
   *
   * @param model - The model concerned; undefined: the repository is listed.
   * @throws {@link TritonError} INTERNAL if the store refuses it, UNAVAILABLE if it does not answer, INVALID_ARG for too many,
   *   CANCELLED.
   */
  async list(
    prefix: string,
    isDeep: boolean,
    model: string | undefined,
    signal: AbortSignal,
  ): Promise<Found> {
    const objects: StoredObject[] = [];
    const folders: string[] = [];
    let next: string | undefined;
    const seen = new Set<string>();
    const subject = this.#subject(model);
    do {
      const from = next;
      const page = await this.#call('listing it', model, signal, 'listing', async (store, one) => {
        const found = await orAborted(store.page(prefix, isDeep, from, one.signal), one.signal);
        if (found.next === undefined) return found;
        if (seen.has(found.next)) throw new PassingFault('the listing begins again and again');
        if (seen.size === mostPages) throw new Error(`the listing has more than ${mostPages} pages`);
        return found;
      });
      if (page.next !== undefined) seen.add(page.next);
      for (const object of page.objects) objects.push(object);
      for (const folder of page.folders) folders.push(folder);
      next = page.next;
      if (objects.length + folders.length > mostObjects) {
        throw new TritonError('INVALID_ARG', `${subject}: it has more than ${mostObjects} objects`, {
          model,
        });
      }
    } while (next !== undefined);
    return { objects, folders };
  }

  /**
   * The content of a small object.
   *
   * @throws {@link TritonError} As {@link list}; UNAVAILABLE if it has changed since it was listed.
   */
  async bytes(object: StoredObject, model: string, signal: AbortSignal): Promise<Uint8Array> {
    return await this.#call(`reading ${keyText(object)}`, model, signal, 'small', async (store, one) => {
      const parts: Uint8Array[] = [];
      const begun = performance.now();
      const { chunks, check } = await orAborted(store.read(object, 0, one.signal, one.alive), one.signal);
      let size = 0;
      for await (const chunk of addAbortSignal(one.signal, chunks)) {
        const part = bytesOf(chunk);
        one.alive();
        size += part.length;
        if (size > object.size) break;
        if (performance.now() - begun > smallMs)
          throw new PassingFault(`${size} of ${object.size} bytes came in ${smallMs / 1000} s`);
        check?.update(part);
        parts.push(part);
      }
      throwIfOther(object, size, check);
      return Buffer.concat(parts);
    });
  }

  /**
   * Writes an object to a file. A download that breaks off goes on where it was.
   *
   * @param onBytes - Called with the number of bytes that are written, after each part.
   * @returns What was written.
   * @throws {@link TritonError} As {@link bytes}. What `file` throws as it is.
   */
  async download(
    object: StoredObject,
    file: FileHandle,
    model: string,
    signal: AbortSignal,
    onBytes: (done: number) => void,
  ): Promise<Downloaded> {
    let done = 0;
    let counted = 0;
    let check: ContentCheck | undefined;
    let isComparedWhole = false;
    let digest = createHash('sha256');
    const write = async (store: ObjectStore, one: Try): Promise<void> => {
      // A connection may break after the last byte.
      if (done > 0 && done === object.size) {
        throwIfOther(object, done, check);
        return;
      }
      const body = await orAborted(store.read(object, done, one.signal, one.alive), one.signal);
      if (done === 0) {
        ({ check, isComparedWhole = false } = body);
        digest = createHash('sha256');
      }
      for await (const chunk of addAbortSignal(one.signal, body.chunks)) {
        const part = bytesOf(chunk);
        one.alive();
        if (done + part.length > object.size)
          throw new DamageFault(`more than its ${object.size} bytes came`);
        await writeAll(file, part, done);
        check?.update(part);
        digest.update(part);
        done += part.length;
        if (done - counted >= forwardBytes) {
          counted = done;
          one.forward();
        }
        onBytes(done);
      }
      if (done < object.size)
        throw new PassingFault(`its end is missing: ${done} of ${object.size} bytes came`);
      throwIfOther(object, done, check);
    };
    await this.#call(`downloading ${keyText(object)}`, model, signal, 'download', async (store, one) => {
      try {
        await write(store, one);
      } catch (error) {
        // What came before a connection broke is kept, but nothing that may be damaged.
        if (isComparedWhole || error instanceof DamageFault || store.faultOf(error).isDamage === true)
          done = 0;
        throw error;
      }
    });
    return { sha256: digest.digest('hex'), isCompared: check !== undefined || isComparedWhole };
  }

  #subject(model: string | undefined): string {
    return model === undefined
      ? `model repository '${this.place.url}'`
      : `model '${model}': '${this.place.url}'`;
  }

  #slotsOf(kind: 'listing' | 'small' | 'download', model: string | undefined): Slots {
    if (kind === 'download') return this.#downloads;
    if (kind === 'small') return this.#smalls;
    return model === undefined ? this.#ofRepository : this.#listings;
  }

  async #call<T>(
    what: string,
    model: string | undefined,
    signal: AbortSignal,
    kind: 'listing' | 'small' | 'download',
    call: (store: ObjectStore, one: Try) => Promise<T>,
  ): Promise<T> {
    const slots = this.#slotsOf(kind, model);
    const tried = async (one: Opened): Promise<T> => {
      const { store } = one;
      one.users++;
      try {
        return await slots.run(model ?? '', (goesOn) =>
          insistently(
            (each) => {
              const alive = (): void => {
                each.alive();
                goesOn();
              };
              return call(store, { ...each, alive });
            },
            (error) => faultOf(store, error, kind === 'listing'),
            signal,
          ),
        );
      } finally {
        one.users--;
        closeUnused(one);
      }
    };
    let opened: Opened | undefined;
    try {
      const opening = this.#open();
      opened = await opening;
      try {
        return await tried(opened);
      } catch (error) {
        const isRefused = error instanceof StoreCallError && error.fault.kind === 'refused';
        if (!isRefused || !opened.mayChange) throw error;
        // As in Triton the file is read again once: its keys may be new ones. So are those of a profile.
        if (this.#opened === opening) this.#opened = undefined;
        opened.isReplaced = true;
        closeUnused(opened);
        opened = await this.#open();
        return await tried(opened);
      }
    } catch (error) {
      if (signal.aborted) throw cancelled(this.#subject(model), model);
      if (!(error instanceof StoreCallError)) throw error;
      if (error.cause instanceof FileError) throw error.cause.cause;
      throw this.#errorOf(error, what, model, opened?.store.used ?? '');
    }
  }

  #open(): Promise<Opened> {
    const opening = (this.#opened ??= this.#openNow());
    opening.catch(() => {
      if (this.#opened === opening) this.#opened = undefined;
    });
    return opening;
  }

  async #openNow(): Promise<Opened> {
    const { url, scheme } = this.place;
    const { needs, open } = kinds[scheme];
    const credentials = await credentialsFor(this.place, process.env);
    const openStore = await open().catch((cause: unknown) => {
      const text = `model repository '${url}' needs the package ${needs}, which cannot be imported (${thrownText(cause)}): npm install ${needs}`;
      throw unavailable('MISSING', text, { cause });
    });
    const { get, isOfFile } = credentials;
    const isKey = (get('key_id') ?? get('account_key')) !== undefined;
    return {
      store: await openStore(this.place, credentials),
      mayChange: isOfFile || !isKey,
      users: 0,
      isReplaced: false,
    };
  }

  #errorOf(
    { fault, tries }: StoreCallError,
    what: string,
    model: string | undefined,
    used: string,
  ): TritonError {
    const subject = this.#subject(model);
    const why = `${fault.text}; used: ${used}`;
    // The client's own error is left out: it has the request, with what signs it.
    const options = { model };
    switch (fault.kind) {
      case 'changed':
        return unavailable(
          'NOT_READY',
          `${subject}: ${what} failed, because the object was changed or removed after the listing (${fault.text}); load the model again when no program writes to that place`,
          options,
        );
      case 'passing':
        return unavailable(
          'NO_CONNECTION',
          `${subject}: ${what} failed ${tries} times, last with: ${why}`,
          options,
        );
      case 'refused': {
        const { title } = kinds[this.place.scheme];
        const text =
          model === undefined ? `Unable to create ${title} client. Check account credentials. ` : '';
        return new TritonError('INTERNAL', `${subject}: ${text}${what} was refused: ${why}`, options);
      }
      case 'lasting':
        return new TritonError('INTERNAL', `${subject}: ${what} failed: ${why}`, options);
    }
  }
}

/** Closes what was replaced, after its last call. */
function closeUnused({ store, users, isReplaced }: Opened): void {
  if (isReplaced && users === 0) store.close?.();
}

/** A listing names no object that could be gone: what is missing is the bucket. */
function faultOf(store: ObjectStore, error: unknown, isListing: boolean): StoreFault {
  if (error instanceof FileError) return { kind: 'lasting', text: '' };
  const fault = store.faultOf(error);
  return isListing && fault.kind === 'changed' ? { ...fault, kind: 'refused' } : fault;
}

/** The file of a download could not be written. That is not the store's fault. */
class FileError extends Error {}

async function writeAll(file: FileHandle, part: Uint8Array, at: number): Promise<void> {
  try {
    for (let done = 0; done < part.length;) {
      done += (await file.write(part, done, part.length - done, at + done)).bytesWritten;
    }
  } catch (cause) {
    throw new FileError('', { cause });
  }
}

/** What came is not the object. */
class DamageFault extends PassingFault {}

/** @throws DamageFault for content that is not that of the listed object. */
function throwIfOther(object: StoredObject, size: number, check: ContentCheck | undefined): void {
  if (size !== object.size) throw new DamageFault(`${size} bytes came, and it has ${object.size}`);
  if (check?.matches() === false) throw new DamageFault('the bytes that came do not have its checksum');
}

function bytesOf(chunk: unknown): Uint8Array {
  if (chunk instanceof Uint8Array) return chunk;
  throw new TypeError('expected bytes from the store');
}

function keyText({ key }: StoredObject): string {
  return `'${printableLine(key)}'`;
}

/** The error of what was cancelled. */
export function cancelled(subject: string, model: string | undefined): TritonError {
  return new TritonError('CANCELLED', `${subject}: reading it was cancelled`, { model });
}

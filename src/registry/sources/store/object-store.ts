/** What a store has to do for a repository: the interface between its vendor's client and everything else here. */

import type { Readable } from 'node:stream';

/** How many objects a model, and folders a repository, may have. */
export const mostObjects = 131_072;

/** An object, as a listing shows it. */
export interface StoredObject {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Another text whenever the object is written: an etag or a generation. */
  readonly stamp: string;
  /** A checksum of its content, as the listing has it, in base64. */
  readonly checksum?: { readonly kind: 'md5' | 'crc32c'; readonly value: string } | undefined;
}

/** A part of a listing. */
export interface StorePage {
  readonly objects: readonly StoredObject[];
  /** What keys begin with that have a further slash, each with that slash. Only of a listing of one level. */
  readonly folders: readonly string[];
  /** Where the next page begins; undefined: this is the last one. */
  readonly next: string | undefined;
}

/** Compares the bytes of an object with the checksum that the store has of it. */
export interface ContentCheck {
  update(bytes: Uint8Array): void;
  /** Whether all bytes together are those of the checksum. */
  matches(): boolean;
}

/** An object that is being read. */
export interface ObjectBody {
  readonly chunks: Readable;
  /** Undefined if the store has no checksum of it that can be computed here. */
  readonly check: ContentCheck | undefined;
  /** Whether only the client compares it with a checksum, which it does with whole objects alone. */
  readonly isComparedWhole?: boolean;
}

/**
 * Why a call failed.
 *
 * - `passing`: the same call may succeed soon.
 * - `changed`: the object is not the listed one any more, or is gone.
 * - `refused`: the store does not accept the key, the bucket or the region.
 * - `lasting`: anything else.
 */
export interface StoreFault {
  readonly kind: 'passing' | 'changed' | 'refused' | 'lasting';
  /** Without secrets. */
  readonly text: string;
  /** Whether the bytes that came are other ones than those of the object. */
  readonly isDamage?: boolean;
}

/** A store. Each function is tried once, and is one request, but for those that ask for checksums first. */
export interface ObjectStore {
  /** What it uses, for messages: endpoint, region, the id of the key. No secret. */
  readonly used: string;

  /**
   * A page of the objects whose keys begin with a text, by key.
   *
   * @param isDeep - Whether it has all of them, or those without a further slash.
   * @param next - As the page before says.
   */
  page(prefix: string, isDeep: boolean, next: string | undefined, signal: AbortSignal): Promise<StorePage>;

  /**
   * Reads an object from a byte on. Fails if it is not the listed one.
   *
   * @param alive - Called when something came from the store before the body did.
   */
  read(object: StoredObject, from: number, signal: AbortSignal, alive: () => void): Promise<ObjectBody>;

  /** Tells what a function of it, or a body, has thrown. */
  faultOf(error: unknown): StoreFault;

  /** Closes its connections. Without it they are not its own. */
  close?(): void;
}

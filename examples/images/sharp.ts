/** The part of `sharp` that this example uses outside of its model. */
import { optionalPackage } from '../../test/support/optional.js';

/** An image on its way from one form to another. */
export interface Sharp {
  greyscale(): Sharp;
  resize(width: number, height: number, options: { readonly fit?: string; readonly kernel?: string }): Sharp;
  raw(): Sharp;
  png(): Sharp;
  jpeg(options: { readonly quality: number }): Sharp;
  toBuffer(): Promise<Buffer>;
}

/** Bytes without a header. */
export interface RawImage {
  readonly raw: { readonly width: number; readonly height: number; readonly channels: 1 | 3 };
}

/** The package's function. */
export type SharpPackage = (image: Uint8Array, options?: RawImage) => Sharp;

/** The package; undefined where it is not installed. */
export async function sharpPackage(): Promise<SharpPackage | undefined> {
  // The interface says what the package's documentation does.
  const loaded = (await optionalPackage('sharp')) as { readonly default: SharpPackage } | undefined;
  return loaded?.default;
}

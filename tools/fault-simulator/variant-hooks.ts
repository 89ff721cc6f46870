/** Changes the text of one file as it is loaded. */

import type { LoadHook } from 'node:module';
import { BROKEN_VARIANTS, type BrokenVariant } from './broken-variants.ts';

let variant: BrokenVariant | undefined;

export function initialize({ name }: { readonly name: string }): void {
  variant = BROKEN_VARIANTS.find((each) => each.name === name);
  if (variant === undefined) throw new Error(`there is no variant ${name}`);
}

export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  if (variant === undefined || !url.endsWith(`/src/${variant.file}.js`)) return loaded;
  const { name, find, replacement } = variant;
  const parts = `${loaded.source}`.split(find);
  if (parts.length !== 2) {
    throw new Error(`${name}: found ${parts.length - 1} times in ${variant.file}, expected once`);
  }
  return { ...loaded, source: parts.join(replacement) };
};

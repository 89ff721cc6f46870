/** Changes the text of one file when it is loaded. */

import type { LoadHook } from 'node:module';
import { BROKEN_VARIANTS, type BrokenVariant, breakCode } from './broken-variants.ts';

let variant: BrokenVariant | undefined;

export function initialize({ name }: { readonly name: string }): void {
  variant = BROKEN_VARIANTS.find((each) => each.name === name);
  if (variant === undefined) throw new Error(`there is no variant ${name}`);
}

export const load: LoadHook = async (url, context, next) => {
  const loaded = await next(url, context);
  if (variant === undefined || !isSourceOf(url, variant.file)) return loaded;
  return { ...loaded, source: breakCode(`${loaded.source}`, variant) };
};

function isSourceOf(url: string, file: string): boolean {
  return url.includes('/build/src/') && url.endsWith(`/${file}.js`);
}

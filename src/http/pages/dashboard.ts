/**
 * Serves the dashboard's static files from memory. The files are read once, at the start. If the
 * dashboard was not built, there are no files, and "/" shows the page of home.ts instead.
 */

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import path from 'node:path';
import { PACKAGE_FOLDER } from '../../config/package-folder.ts';

/** The folder into which Vite writes the built dashboard. */
const BUILT = path.join(PACKAGE_FOLDER, 'dist/web');
const INDEX = 'index.html';

/**
 * The page may only load files of the same origin. Inline scripts, third parties and frames are not
 * allowed.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
};

/** The precompressed variants of each file and their suffixes. The smallest variant comes first. */
const ENCODINGS = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

interface Variant {
  /** Undefined for the uncompressed variant. */
  readonly encoding: string | undefined;
  readonly body: Buffer;
  readonly etag: string;
}

interface Asset {
  readonly type: string;
  readonly cacheControl: string;
  /** The variants in order of preference. The last variant is uncompressed. */
  readonly variants: readonly Variant[];
}

/** The files by path: "index.html", and assets such as "assets/index-BKreqt8m.css". */
export type Dashboard = ReadonlyMap<string, Asset>;

export function loadDashboard(folder = BUILT): Dashboard {
  const assets = new Map<string, Asset>();
  if (!existsSync(path.join(folder, INDEX))) return assets;
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = TYPES[path.extname(name)];
    if (type === undefined) continue;
    const file = path.join(folder, name);
    // The names of all files except the index contain a hash of the content, so clients can cache
    // these files forever.
    const cacheControl = name === INDEX ? 'no-cache' : 'public, max-age=31536000, immutable';
    assets.set(name.replaceAll(path.sep, '/'), {
      type,
      cacheControl,
      variants: readVariants(file),
    });
  }
  return assets;
}

function readVariants(file: string): Variant[] {
  const encoded = ENCODINGS.filter(([, suffix]) => existsSync(file + suffix));
  const sources: [string | undefined, string][] = [
    ...encoded.map(([encoding, suffix]): [string, string] => [encoding, file + suffix]),
    [undefined, file],
  ];
  return sources.map(([encoding, source]) => {
    const body = readFileSync(source);
    const hash = createHash('sha256').update(body).digest('base64url').slice(0, 22);
    return { encoding, body, etag: `"${hash}"` };
  });
}

/** A response with a file. If the client already has the file, the response has no body. */
export interface AssetResponse {
  readonly status: 200 | 304;
  readonly headers: Readonly<Record<string, string | number>>;
  /** Undefined if the status is 304. */
  readonly body: Buffer | undefined;
}

/**
 * Returns the response with the file of this name (by default the page); returns undefined if no
 * file has this name.
 */
export function findAsset(
  dashboard: Dashboard,
  requestHeaders: IncomingHttpHeaders,
  name = INDEX,
): AssetResponse | undefined {
  const asset = dashboard.get(name);
  if (asset === undefined) return undefined;
  const accepted = String(requestHeaders['accept-encoding'] ?? '');
  const { encoding, body, etag } = chooseVariant(asset.variants, accepted);
  const headers = {
    ETag: etag,
    'Cache-Control': asset.cacheControl,
    Vary: 'Accept-Encoding',
    'Content-Security-Policy': CONTENT_SECURITY_POLICY,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
  };
  // The tag is searched as a substring, because a proxy may have made the tag weak, or may send
  // several tags.
  const isUnchanged = requestHeaders['if-none-match']?.includes(etag) === true;
  if (isUnchanged) return { status: 304, headers, body: undefined };
  const contentHeaders = {
    'Content-Type': asset.type,
    'Content-Length': body.length,
    ...(encoding === undefined ? {} : { 'Content-Encoding': encoding }),
  };
  return { status: 200, headers: { ...contentHeaders, ...headers }, body };
}

/**
 * Returns the first variant that Accept-Encoding allows. The parameter q=0 refuses a variant. If no
 * compressed variant is allowed, returns the uncompressed variant.
 */
function chooseVariant(variants: readonly Variant[], accepted: string): Variant {
  const acceptedEncodings = accepted.split(',').flatMap((part) => {
    const [name, ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    return parameters.some((text) => /^q=0(\.0*)?$/.test(text)) ? [] : [name];
  });
  const plain = variants[variants.length - 1];
  return (
    variants.find(
      ({ encoding }) => encoding !== undefined && acceptedEncodings.includes(encoding),
    ) ?? plain
  );
}

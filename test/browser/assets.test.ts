/** The page's files as the service sends them: small, cached, under a strict policy. */

import assert from 'node:assert/strict';
import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { loadDashboard } from '../../src/http/pages/dashboard.ts';
import { PROJECT } from '../../tools/harness/paths.ts';
import { createPlaces } from '../../tools/harness/program.ts';
import { type Asked, makeLedger, startService } from '../../tools/harness/running.ts';
import { simulateLines } from '../../tools/harness/simulated-lines.ts';

const place = createPlaces();
const service = await startService(
  { after },
  { data: await makeLedger(place(), simulateLines(3)) },
);
const ask = (asked: Asked) => service.once(asked);
const BYTES_MAX = 150_000;

const home = await ask({ path: '/' });
const assetPaths = [...home.body.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(
  ([, name]) => name,
);

test('the page loads one script and one style, both from its own origin', () => {
  assert.equal(home.status, 200);
  assert.equal(home.headers['content-type'], 'text/html; charset=utf-8');
  assert.deepEqual(assetPaths.map((name) => path.extname(name)).sort(), ['.css', '.js']);
});

test('the page is at most 150 KB compressed, in both encodings', () => {
  const folder = path.join(PROJECT, 'dist/web');
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const suffix of ['.br', '.gz']) {
    const files = names.filter((name) => name.endsWith(suffix));
    const sizes = files.map((name) => statSync(path.join(folder, name)).size);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(files.length === 3 && total <= BYTES_MAX, `${suffix}: ${total} bytes`);
  }
});

test('the content security policy allows nothing inline and no other origin', async () => {
  for (const target of ['/', ...assetPaths]) {
    const { headers } = await ask({ path: target });
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    assert.equal(headers['x-content-type-options'], 'nosniff');
    assert.equal(headers['referrer-policy'], 'no-referrer');
  }
});

test('assets are cached forever, the page is revalidated', async () => {
  assert.equal(home.headers['cache-control'], 'no-cache');
  const { headers } = await ask({ path: assetPaths[0] });
  assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
  const again = await ask({ path: '/', headers: { 'If-None-Match': home.headers.etag } });
  assert.deepEqual([again.status, again.body], [304, '']);
  const weak = await ask({ path: '/', headers: { 'If-None-Match': `W/${home.headers.etag}` } });
  assert.equal(weak.status, 304);
});

test('the encoding follows Accept-Encoding', async () => {
  const encodingFor = async (accepted: string) => {
    const { headers } = await ask({ path: '/', headers: { 'Accept-Encoding': accepted } });
    assert.equal(headers.vary, 'Accept-Encoding');
    return headers['content-encoding'];
  };
  assert.equal(await encodingFor('gzip, deflate, br'), 'br');
  assert.equal(await encodingFor('gzip, br;q=0'), 'gzip');
  assert.equal(await encodingFor('identity'), undefined);
  assert.equal(home.headers['content-encoding'], undefined);
});

test('the encoded variants decode to the plain file', () => {
  for (const { variants } of loadDashboard(path.join(PROJECT, 'dist/web')).values()) {
    const [brotli, gzip, plain] = variants.map(({ body }) => body);
    assert.deepEqual(brotliDecompressSync(brotli), plain);
    assert.deepEqual(gunzipSync(gzip), plain);
  }
});

test('other paths are not found, and other methods are refused', async () => {
  for (const target of [
    '/assets/none.js',
    '/assets/',
    '/assets/..%2findex.html',
    '/assets/index.html',
  ]) {
    assert.equal((await ask({ path: target })).status, 404, target);
  }
  assert.equal((await ask({ method: 'POST', path: assetPaths[0] })).status, 405);
  const head = await ask({ method: 'HEAD', path: '/' });
  assert.deepEqual([head.status, head.body], [200, '']);
});

test('without a build there is no dashboard', () => {
  assert.equal(loadDashboard(place('missing')).size, 0);
});

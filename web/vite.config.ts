/** Builds the page into dist/web, each file also compressed, for the service to send as it is. */

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const OUTPUT = path.resolve(import.meta.dirname, '../dist/web');

function compress(): Plugin {
  return {
    name: 'compress',
    closeBundle() {
      for (const name of readdirSync(OUTPUT, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(html|js|css)$/.test(name)) continue;
        const file = path.join(OUTPUT, name);
        const content = readFileSync(file);
        writeFileSync(`${file}.br`, brotliCompressSync(content));
        writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [compress()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: OUTPUT,
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    // Nothing is put into the page as data: the policy allows files only.
    assetsInlineLimit: 0,
    reportCompressedSize: false,
  },
});

/**
 * Builds the program into dist: our files in a few large ones, which a process loads several times faster
 * than hundreds of small ones. The dependencies stay where npm has installed them.
 */

import { defineConfig } from 'vite';

export default defineConfig({
  build: {
    ssr: 'src/main.ts',
    outDir: 'dist',
    emptyOutDir: true,
    target: 'node20',
    minify: false,
    sourcemap: true,
    rolldownOptions: { output: { chunkFileNames: 'parts/[name]-[hash].js' } },
  },
});

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// The server sends what was compressed here: it would otherwise compress the same bytes for every browser.
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    closeBundle() {
      const dir = join(import.meta.dirname, 'dist/site/assets');
      for (const name of readdirSync(dir)) {
        if (!/\.(js|css|svg)$/.test(name)) continue;
        const file = join(dir, name);
        const raw = readFileSync(file);
        if (raw.length < 1024) continue;
        writeFileSync(`${file}.gz`, gzipSync(raw, { level: 9 }));
        writeFileSync(`${file}.br`, brotliCompressSync(raw, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }));
      }
    },
  };
}

export default defineConfig({
  // Assets are asked for as /assets/…, pages as /dashboard/….
  base: '/',
  plugins: [react(), precompress()],
  build: {
    outDir: 'dist/site', // dist itself holds a file of git's, so that Go can embed the folder before it is built
    emptyOutDir: true,
    assetsInlineLimit: 0,
    rolldownOptions: {
      output: {
        // What changes seldom keeps its name, and stays in browsers' caches, when a page changes. Of the library of
        // components the frame has its own part; what only some pages use comes with them, and what draws charts with
        // the first chart.
        codeSplitting: {
          groups: [
            { name: 'react', test: /node_modules\/(react|react-dom|scheduler)\// },
            { name: 'libraries', test: /node_modules\//, tags: ['$initial'] },
            // What many pages share is one file: a browser opens six connections, and asks for one file on each at a
            // time.
            { name: 'shared', minShareCount: 4 },
          ],
        },
      },
    },
  },
  server: {
    // `npm run dev` beside a running dialler.
    proxy: { '/api': process.env['DIALLER_URL'] ?? 'http://127.0.0.1:8080' },
  },
  // A machine that does other things at the same time is not what fails a test.
  test: { include: ['src/**/*.test.ts'], environment: 'node', testTimeout: 60_000 },
});

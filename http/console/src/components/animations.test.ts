import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

// A compositor animates these; anything else is painted anew for every frame, on the main thread.
const composited = new Set(['opacity', 'transform', 'translate', 'scale', 'rotate']);

test('what never stops moving is not painted again', () => {
  const src = join(import.meta.dirname, '..');
  const sheets = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.css'));
  const moved = sheets.flatMap((file) =>
    [...readFileSync(join(src, file), 'utf8').matchAll(/@keyframes[^{]*\{((?:[^{}]*\{[^{}]*\})*)\s*\}/g)].flatMap(
      ([, steps]) => [...(steps ?? '').matchAll(/([a-z-]+)\s*:/g)].map(([, property]) => `${file}: ${property}`),
    ),
  );
  expect(moved.length).toBeGreaterThan(0);
  expect(moved.filter((m) => !composited.has(m.split(': ')[1] ?? ''))).toEqual([]);
});

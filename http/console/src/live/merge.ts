/** A JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/**
 * mergePatch applies a JSON Merge Patch (RFC 7396). The target is not changed; parts that the patch does not touch are
 * shared, so that what shows them need not draw again.
 */
export function mergePatch(target: Json | undefined, patch: Json): Json {
  if (!isObject(patch)) return patch;
  const merged: { [key: string]: Json } = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else Object.defineProperty(merged, key, { value: mergePatch(merged[key], value), enumerable: true, writable: true, configurable: true });
  }
  return merged;
}

function isObject(v: Json | undefined): v is { [key: string]: Json } {
  return typeof v === 'object' && v !== null && !Array.isArray(v);
}

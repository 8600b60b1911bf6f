import type { ComponentType } from 'react';
import { createElement, use } from 'react';

/** Code is a component that is loaded when it is first drawn, or before: `load` begins with it. */
export interface Code<P> {
  load: () => void;
  Show: ComponentType<P>;
}

/**
 * code is React's lazy for what may be there already: then it is drawn at once, and nothing stands in for it meanwhile.
 */
export function code<P extends object>(from: () => Promise<{ default: ComponentType<P> }>): Code<P> {
  let there: ComponentType<P> | undefined;
  let coming: Promise<ComponentType<P>> | undefined;
  const fetched = () =>
    (coming ??= from().then(
      (m) => (there = m.default),
      (e: unknown) => {
        coming = undefined; // it may be there the next time
        throw e;
      },
    ));
  return {
    load: () => void fetched().catch(() => undefined), // who draws it is told
    Show: (props) => createElement(there ?? use(fetched()), props),
  };
}

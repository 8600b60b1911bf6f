import { useCallback, useState } from 'react';

import type { Schemas } from '../../api/client';
import type { Problem } from '../../api/problem';
import type { Draft } from '../../words/mistakes';
import { mistakes } from '../../words/mistakes';
import { defaults } from '../../words/settings.gen';
import { viewerZone, week } from '../../words/times';

export type Window = Schemas['Window'];
export type { Draft };

/** blank is what a new campaign begins with: the defaults of the API. */
export const blank: Draft = {
  ...defaults,
  name: '',
  bot_id: '',
  concurrency: 5,
  window: {
    zone: viewerZone,
    start: '09:00',
    end: '18:00',
    days: week.slice(0, 5) as NonNullable<Window['days']>,
    holidays: [],
    contact_zone: false,
  },
  number_pool: [],
};

/** Form is settings while they are edited. */
export interface Form {
  draft: Draft;
  set: (change: Partial<Draft>) => void;
  setWindow: (change: Partial<Window>) => void;
  /** Puts others in their place. */
  replace: (draft: Draft) => void;
  /** What is wrong with a field that was touched, or what the server said of it. */
  error: (...fields: string[]) => string | undefined;
  /** Shows every mistake of these fields, of all without any; false when there is one. */
  check: (fields?: readonly string[]) => boolean;
  /** Takes the server's messages to their fields. */
  refused: (p: Problem) => void;
  /** Whether a setting must stay as it is. */
  locked: (field: string) => boolean;
}

const none: ReadonlySet<string> = new Set();

/** useForm holds settings while they are edited; `keep` hears of every change. */
export function useForm(
  initial: Draft,
  { locked = none, keep }: { locked?: ReadonlySet<string>; keep?: (d: Draft) => void } = {},
): Form {
  const [draft, setDraft] = useState(initial);
  const [touched, setTouched] = useState<ReadonlySet<string>>(none);
  const [said, setSaid] = useState<Readonly<Record<string, string>>>({});

  const change = (next: Draft, fields: string[]) => {
    setDraft(next);
    keep?.(next);
    setTouched((old) => new Set([...old, ...fields]));
    setSaid((old) =>
      Object.fromEntries(Object.entries(old).filter(([f]) => !fields.some((g) => f === g || f.startsWith(`${g}[`)))),
    );
  };
  const wrong = mistakes(draft);
  const refused = useCallback(
    (p: Problem) => setSaid(Object.fromEntries(p.errors.map((e) => [e.field, e.message]))),
    [],
  );
  return {
    draft,
    set: (c) => change({ ...draft, ...c }, Object.keys(c)),
    setWindow: (c) =>
      change(
        { ...draft, window: { ...draft.window, ...c } },
        Object.keys(c).map((k) => `window.${k}`),
      ),
    replace: (d) => {
      setDraft(d);
      keep?.(d);
      setSaid({});
    },
    error: (...fields) => {
      for (const f of fields) {
        const own = touched.has(f) ? wrong[f] : undefined;
        const told = said[f] ?? Object.entries(said).find(([g]) => g.startsWith(`${f}[`))?.[1];
        if (own !== undefined || told !== undefined) return own ?? sentence(told ?? '');
      }
      return undefined;
    },
    check: (fields) => {
      const bad = Object.keys(wrong).filter((f) => fields === undefined || fields.includes(f));
      setTouched((old) => new Set([...old, ...bad]));
      return bad.length === 0;
    },
    refused,
    locked: (f) => locked.has(f),
  };
}

function sentence(s: string): string {
  const t = s.charAt(0).toUpperCase() + s.slice(1);
  return /[.!?]$/.test(t) ? t : `${t}.`;
}

import { Loader, Modal, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useId, useRef, useState } from 'react';
import { useLocation } from 'wouter';

import type { Found } from '../api/people';
import { useSearch } from '../api/people';
import { may, useUser } from '../api/session';
import { pages } from '../routes';
import { plural } from '../words/figures';
import { peopleSearch } from '../words/people-search';
import { nameOf } from '../words/person';
import { campaignStatus, named } from '../words/states';
import { useFocusBack } from './focus-back';
import { SearchIcon } from './icons';
import css from './palette.module.css';

/** How long typing rests before it is searched for, ms. */
const restMs = 150;

const peopleShown = 20;

interface Choice {
  key: string;
  group: 'People' | 'Campaigns' | 'Pages';
  label: string;
  detail: string;
  to: string;
}

/** Palette finds people, campaigns and pages; the keyboard is enough. */
export default function Palette({ close }: { close: () => void }) {
  useFocusBack();
  const [typed, setTyped] = useState('');
  const [rested] = useDebouncedValue(typed, restMs);
  const sought = peopleSearch(typed);
  const asked = peopleSearch(rested).q;
  const query = useSearch(asked, peopleShown);
  const { role } = useUser();
  const [, go] = useLocation();
  const id = useId();
  // Only what was found for this very text.
  const found = sought.q !== undefined && sought.q === asked ? query.data : undefined;
  const list = [...peopleIn(found), ...campaignsIn(found), ...pagesIn(typed, role)];
  const [at, setAt] = useState(0);
  const chosen = Math.min(at, list.length - 1);
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    place.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  const take = (c: Choice | undefined) => {
    if (c === undefined) return;
    close();
    go(c.to);
  };
  const waits = sought.q !== undefined && (sought.q !== asked || query.isFetching) && found === undefined;
  return (
    <Modal.Root opened onClose={close} size={640} yOffset="10vh">
      <Modal.Overlay />
      <Modal.Content aria-label="Find people, campaigns and pages">
        <Modal.Body p={0}>
          <TextInput
            role="combobox"
            aria-expanded={list.length > 0}
            aria-controls={`${id}-list`}
            aria-autocomplete="list"
            aria-activedescendant={chosen >= 0 ? `${id}-${chosen}` : undefined}
            aria-label="Find people, campaigns and pages"
            placeholder="Part of a number, a name, any variable, a campaign"
            size="md"
            variant="unstyled"
            className={css.input}
            leftSection={<SearchIcon size={18} />}
            rightSection={waits && <Loader size="xs" aria-label="Searching" />}
            data-autofocus
            maxLength={100}
            value={typed}
            onChange={(e) => {
              setTyped(e.currentTarget.value);
              setAt(0);
            }}
            onKeyDown={(e) => {
              const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1 }[e.key];
              if (to !== undefined) {
                e.preventDefault();
                if (list.length > 0) setAt((to + list.length) % list.length);
              } else if (e.key === 'Enter' && !waits) {
                e.preventDefault();
                take(list[chosen]);
              }
            }}
          />
          <div id={`${id}-list`} role="listbox" aria-label="Found" className={css.list} ref={place}>
            {(['People', 'Campaigns', 'Pages'] as const).map((group) => {
              const of = list.map((c, i) => ({ c, i })).filter(({ c }) => c.group === group);
              if (of.length === 0) return null;
              return (
                <div key={group} role="group" aria-label={group}>
                  <div className={css.group} aria-hidden="true">
                    {group}
                  </div>
                  {of.map(({ c, i }) => (
                    // The keys are those of the field, which keeps the focus.
                    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
                    <div
                      key={c.key}
                      id={`${id}-${i}`}
                      role="option"
                      tabIndex={-1}
                      aria-selected={i === chosen}
                      className={css.option}
                      data-found={c.key}
                      onMouseMove={() => setAt(i)}
                      onClick={() => take(c)}
                    >
                      <span className={css.label}>{c.label}</span>
                      <span className={css.detail}>{c.detail}</span>
                    </div>
                  ))}
                </div>
              );
            })}
          </div>
          <Text size="sm" c="dimmed" className={css.note} role="status">
            {noteOf({ ...sought, waits, found, wrong: query.isError ? query.error.message : undefined })}
          </Text>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

function noteOf({
  q,
  reason,
  waits,
  found,
  wrong,
}: {
  q?: string;
  reason?: string;
  waits: boolean;
  found: Found | undefined;
  wrong: string | undefined;
}): string {
  if (reason !== undefined) return reason;
  if (q === undefined) return 'Arrows choose, Enter opens, Esc closes.';
  if (found === undefined) return waits ? 'Searching…' : (wrong ?? '');
  return [
    found.people.length === 0 && 'Nobody was found.',
    found.more && 'There are more people: type more.',
    found.partial && 'Contacts from before an update are still being read and may be missing.',
  ]
    .filter(Boolean)
    .join(' ');
}

function peopleIn(found: Found | undefined): Choice[] {
  return (found?.people ?? []).map((p) => {
    const name = nameOf(p.contacts);
    const [first] = p.contacts;
    return {
      key: p.phone_number,
      group: 'People',
      label: name === '' ? p.phone_number : `${name} · ${p.phone_number}`,
      detail: p.contacts.length === 1 && first ? first.campaign_name : plural(p.contacts.length, 'campaign'),
      to: `/people/${p.phone_number}`,
    };
  });
}

function campaignsIn(found: Found | undefined): Choice[] {
  return (found?.campaigns ?? []).map((c) => ({
    key: c.campaign_id,
    group: 'Campaigns',
    label: c.name,
    detail: named(campaignStatus, c.status).label,
    to: `/campaigns/${encodeURIComponent(c.campaign_id)}`,
  }));
}

function pagesIn(typed: string, role: Parameters<typeof may>[0]): Choice[] {
  const text = typed.trim().toLowerCase();
  return pages.flatMap(({ path, nav, needs }) =>
    nav && may(role, needs ?? 'viewer') && nav.label.toLowerCase().includes(text)
      ? [{ key: path, group: 'Pages' as const, label: nav.label, detail: '', to: path }]
      : [],
  );
}

import { UnstyledButton } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { Suspense, useState } from 'react';

import { code } from './code';
import { SearchIcon } from './icons';
import css from './palette.module.css';

const { load, Show: Palette } = code(() => import('./palette'));

/** SearchButton opens the search for people, campaigns and pages, as Ctrl-K does. */
export function SearchButton({ small = false, listen = false }: { small?: boolean; listen?: boolean }) {
  const [open, setOpen] = useState(false);
  useHotkeys(listen ? [['mod+K', () => setOpen(true)]] : [], []);
  return (
    <>
      <UnstyledButton
        className={css.button}
        data-small={small || undefined}
        aria-label="Find people, campaigns and pages"
        aria-keyshortcuts="Control+K"
        aria-haspopup="dialog"
        onPointerEnter={load}
        onClick={() => setOpen(true)}
      >
        <SearchIcon size={16} />
        <span className={css.hint}>Find anyone</span>
        {!small && <kbd className={css.key}>Ctrl K</kbd>}
      </UnstyledButton>
      <Suspense>{open && <Palette close={() => setOpen(false)} />}</Suspense>
    </>
  );
}

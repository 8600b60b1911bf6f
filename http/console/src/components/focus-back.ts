import { useLayoutEffect } from 'react';

/** menuOf is the button of the menu that something stands in. */
function menuOf(at: EventTarget | null): HTMLElement | null {
  const button = at instanceof Element ? at.closest('[role="menu"]')?.getAttribute('aria-labelledby') : undefined;
  return button ? document.getElementById(button) : null;
}

/** The button of the menu that was chosen from last: the menu goes with its choice, before what was chosen is there. */
let chosen: HTMLElement | null = null;
document.addEventListener('click', (e) => (chosen = menuOf(e.target) ?? chosen), true);
document.addEventListener('focusin', (e) => {
  if (menuOf(e.target) === null) chosen = null;
});

/** What opened the dialog that has just been closed: the one that follows it at once gives the focus back there. */
let handed: Element | null = null;

/**
 * So many dialogs have been closed and have not given the focus back yet: that takes the next turn of the browser,
 * whenever it comes.
 */
let returning = 0;
const settleMs = 100;

/** whenSettled calls back when no dialog is about to give the focus back; it returns how to call that off. */
export function whenSettled(f: () => void): () => void {
  const look = () => {
    if (returning === 0) f();
    else timer = setTimeout(look, settleMs);
  };
  let timer = setTimeout(look, settleMs);
  return () => clearTimeout(timer);
}

/**
 * useFocusBack gives the focus back, when what uses it is gone, to what had it before: a dialog that is closed would
 * lose it. A choice of a menu had it from the menu's button. What went with the dialog, as a row that was deleted, is
 * followed by the page.
 */
export function useFocusBack() {
  useLayoutEffect(() => {
    const at = document.activeElement;
    const before = menuOf(at) ?? (at === document.body ? (handed ?? chosen) : at);
    return () => {
      handed = before;
      returning++;
      setTimeout(() => {
        handed = null;
        returning--;
        if (document.activeElement !== document.body) return;
        if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
        if (document.activeElement === document.body)
          document.getElementById('content')?.focus({ preventScroll: true });
      });
    };
  }, []);
}

/** lost says that nothing in particular has the focus. */
export function lost(): boolean {
  const at = document.activeElement;
  return at === null || at === document.body || at.id === 'content';
}

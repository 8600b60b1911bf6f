import { useEffect } from 'react';

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
 * useFocusBack gives the focus back, when what uses it is gone, to what had it before: a dialog that is closed would lose
 * it. A choice of a menu had it from the menu's button. What went with the dialog, as a row that was deleted, is followed by
 * the page.
 */
export function useFocusBack() {
  useEffect(() => {
    const at = document.activeElement;
    const before = menuOf(at) ?? (at === document.body ? (handed ?? chosen) : at);
    return () => {
      handed = before;
      setTimeout(() => {
        handed = null;
        if (document.activeElement !== document.body) return;
        if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
        if (document.activeElement === document.body) document.getElementById('content')?.focus({ preventScroll: true });
      });
    };
  }, []);
}

/** lost says that nothing in particular has the focus. */
export function lost(): boolean {
  const at = document.activeElement;
  return at === null || at === document.body || at.id === 'content';
}

import { useEffect } from 'react';

/** useFocusBack gives the focus back, when what uses it is gone, to what had it before: a dialog that is closed would lose it. */
export function useFocusBack() {
  useEffect(() => {
    const before = document.activeElement;
    return () => {
      setTimeout(() => {
        if (before instanceof HTMLElement && before.isConnected && document.activeElement === document.body) before.focus({ preventScroll: true });
      });
    };
  }, []);
}

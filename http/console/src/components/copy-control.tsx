import { ActionIcon, Tooltip } from '@mantine/core';
import { useEffect, useState } from 'react';

import { CheckIcon, CopyIcon } from './icons';

/** CopyControl copies a text; `what` names it for those who do not see the icon. */
export function CopyControl({ text, what }: { text: string; what: string }) {
  const [state, setState] = useState<'' | 'Copied' | 'Copying is not allowed here'>('');
  useEffect(() => {
    if (state === '') return undefined;
    const timer = setTimeout(() => setState(''), 2000);
    return () => clearTimeout(timer);
  }, [state]);
  const label = state === '' ? `Copy ${what}` : state;
  return (
    <Tooltip label={label}>
      <ActionIcon
        size="sm"
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => {
          void copy(text).then((ok) => setState(ok ? 'Copied' : 'Copying is not allowed here'));
        }}
      >
        {state === 'Copied' ? <CheckIcon size={15} /> : <CopyIcon size={15} />}
      </ActionIcon>
    </Tooltip>
  );
}

/** copy uses the old way where the clipboard is closed: a page that came by plain http from another machine. */
async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    area.setAttribute('aria-hidden', 'true');
    area.style.position = 'fixed';
    area.style.opacity = '0';
    document.body.append(area);
    area.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is no other way without https
    const ok = document.execCommand('copy');
    area.remove();
    return ok;
  }
}

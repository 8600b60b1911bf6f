import { Tooltip } from '@mantine/core';
import { useEffect, useState } from 'react';

/** The pointer rests so long before the sentence is shown. */
const restMs = 300;

/**
 * Hint is a word with a sentence about it, shown where the pointer rests. Until then it costs nothing: a page has
 * dozens.
 */
export function Hint({ label, about }: { label: string; about: string }) {
  const [pointed, setPointed] = useState(false);
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const t = setTimeout(() => setShown(pointed), pointed ? restMs : 0);
    return () => clearTimeout(t);
  }, [pointed]);
  const word = (
    <span onPointerEnter={() => setPointed(true)} onPointerLeave={() => setPointed(false)}>
      {label}
    </span>
  );
  return shown ? (
    <Tooltip label={about} opened>
      {word}
    </Tooltip>
  ) : (
    word
  );
}

import { Text, Tooltip } from '@mantine/core';

import { useLink } from '../live/use-live';
import type { Tone } from '../words/states';
import { ToneWord } from './tone-badge';

const links: Record<string, { tone: Tone; label: string; more: string }> = {
  live: { tone: 'green', label: 'Live', more: 'Figures change as things happen.' },
  connecting: { tone: 'grey', label: 'Connecting', more: 'The live stream is being opened.' },
  broken: {
    tone: 'amber',
    label: 'Reconnecting',
    more: 'The live stream is interrupted; meanwhile figures are fetched every few seconds.',
  },
  refused: { tone: 'red', label: 'Not live', more: 'The live stream was refused.' },
};

/** LinkState says whether what is on the screen is live. */
export function LinkState() {
  const link = useLink();
  const shown = link === undefined ? undefined : links[link];
  if (shown === undefined) return <span />;
  return (
    <Tooltip label={shown.more}>
      <Text component="div" size="xs" c="dimmed" role="status" data-link={link}>
        <ToneWord tone={shown.tone} label={shown.label} />
      </Text>
    </Tooltip>
  );
}

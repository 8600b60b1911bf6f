import { Text } from '@mantine/core';

import type { Attempt } from '../../api/client';
import { Player } from '../../components/player';
import { seconds, size } from '../../words/figures';

/** Recording plays what was recorded: the callee above the middle, the bot below it. */
export function Recording({ attempt: a }: { attempt: Attempt }) {
  const r = a.recording;
  if (!r) return null;
  if (r.url === undefined) {
    return (
      <Text size="sm" c="dimmed">
        The recording is kept no longer.
      </Text>
    );
  }
  return (
    <Player
      address={`/api/v1/recordings/${encodeURIComponent(a.attempt_id)}`}
      label="Recording"
      shape="Waveform: the callee above the middle, the bot below"
      seconds={r.duration_s}
      about={`${seconds(Math.round(r.duration_s))}, ${size(r.bytes)}${r.incomplete ? '; some of it is missing' : ''}`}
    />
  );
}

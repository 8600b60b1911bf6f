import { Group } from '@mantine/core';

import type { Direction } from '../words/calls';
import { direction } from '../words/calls';
import { InboundIcon, OutboundIcon } from './icons';

const icons: Record<Direction, typeof InboundIcon> = { inbound: InboundIcon, outbound: OutboundIcon };

/** DirectionWord says who began a call, by an arrow and a word. */
export function DirectionWord({ of }: { of: Direction }) {
  const { label, more } = direction[of];
  const Icon = icons[of];
  return (
    <Group component="span" gap={6} wrap="nowrap" display="inline-flex" title={more} data-direction={of}>
      <Icon size={15} />
      {label}
    </Group>
  );
}

/** DirectionMark is the arrow alone, for places without room for the word. */
export function DirectionMark({ of }: { of: Direction }) {
  const Icon = icons[of];
  return (
    <span role="img" aria-label={direction[of].label} title={direction[of].more} data-direction={of}>
      <Icon size={14} />
    </span>
  );
}

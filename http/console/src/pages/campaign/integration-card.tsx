import { Box, Group, SegmentedControl, Text } from '@mantine/core';
import { useState } from 'react';

import { useBots } from '../../api/queries';
import { Card } from '../../components/card';
import { CopyControl } from '../../components/copy-control';
import { integrations, keyPlaceholder } from '../../words/curl';
import css from './integration-card.module.css';
import type { Still } from './still';
import { still } from './still';

/** IntegrationCard shows how other systems add and exclude contacts: requests that can be pasted into a shell. */
export const IntegrationCard = still(function IntegrationCard({ campaign: c }: { campaign: Still }) {
  const bots = useBots();
  const list = integrations(
    c,
    globalThis.location.origin,
    bots.data?.find((b) => b.id === c.settings.bot_id)?.required_variables,
  );
  const [name, setName] = useState('Trigger');
  const shown = list.find((i) => i.name === name) ?? list[0];
  if (shown === undefined) return null;
  return (
    <Card title="Integration" aside={<CopyControl text={shown.curl} what={`the curl command: ${shown.name}`} />}>
      <Box p="md">
        <SegmentedControl
          size="xs"
          aria-label="Endpoint"
          value={shown.name}
          onChange={setName}
          data={list.map((i) => i.name)}
          className={css.endpoints}
        />
        <Text size="sm" mt="sm">
          {shown.about}
        </Text>
        {/* What scrolls sideways must be reachable by keyboard. */}
        <pre
          className={css.command}
          // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          tabIndex={0}
          role="region"
          aria-label={`curl command: ${shown.name}`}
          data-figure="curl"
        >
          {shown.curl}
        </pre>
        <Group gap={6}>
          <Text size="xs" c="dimmed">
            Put an API key in the place of <code>{keyPlaceholder}</code>. A key is shown once, when it is made.
          </Text>
        </Group>
      </Box>
    </Card>
  );
});

import { Box, Group, Paper, Text } from '@mantine/core';

import type { Campaign } from '../../api/client';
import { ProgressBar } from '../../components/progress-bar';
import { ToneWord } from '../../components/tone-badge';
import { parts, scope } from '../../words/campaigns';
import { progressOf } from '../../words/commands';
import { count, share } from '../../words/figures';
import { contactStatus } from '../../words/states';

/** ProgressCard shows how many contacts are processed, and how they ended. */
export function ProgressCard({ campaign: c }: { campaign: Campaign }) {
  return (
    <Paper component="section" aria-label="Progress" withBorder p="md" style={{ borderColor: 'var(--hairline)' }}>
      <Group justify="space-between" align="baseline" mb={10}>
        <Group gap="sm" align="baseline">
          <Text className="figure" fw={650} size="xl" data-figure="progress">
            {scope(c) === 0 ? '--' : share(c.counters.progress)}
          </Text>
          <Text size="sm" c="dimmed" className="figure">
            {progressOf(c)}
          </Text>
        </Group>
        <Group gap="md" visibleFrom="sm">
          {parts(c).map((p) => (
            <Text component="div" size="xs" c="dimmed" className="figure" key={p.state}>
              <ToneWord tone={contactStatus[p.state].tone} label={`${contactStatus[p.state].label} ${count(p.contacts)}`} />
            </Text>
          ))}
        </Group>
      </Group>
      <Box>
        <ProgressBar campaign={c} height={10} />
      </Box>
    </Paper>
  );
}

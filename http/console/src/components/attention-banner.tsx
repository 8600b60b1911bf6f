import { Alert, Anchor, Group, Text } from '@mantine/core';
import { Link } from 'wouter';

import { useAttention } from '../api/attention';
import { may, useUser } from '../api/session';
import { summary } from '../words/attention';
import { AlertIcon } from './icons';
import { Age, When } from './when';
import { viewerZone } from '../words/times';
import css from './health-banner.module.css';

/** AttentionBanner says on every page what stops campaigns, since when, and where to act. */
export function AttentionBanner() {
  const list = useAttention();
  const operator = may(useUser().role, 'operator');
  return (
    <div role="alert" className={css.banner}>
      {list.map((a) => (
        <Alert
          key={a.key}
          data-attention={a.key}
          color="red"
          variant="light"
          radius={0}
          py="xs"
          icon={<AlertIcon />}
          title={
            <Group gap={8} component="span">
              <span>{a.title}</span>
              <Text span size="sm" fw={400} className="figure">
                since <When at={a.since} zone={viewerZone} precise />{' '}
                <span aria-hidden="true">
                  (<Age at={a.since} />)
                </span>
              </Text>
            </Group>
          }
          styles={{ title: { color: 'var(--mantine-color-error)' } }}
        >
          <Text size="sm">
            {a.campaigns.length === 1 ? 'Stopped campaign: ' : `${a.campaigns.length} campaigns stopped: `}
            {summary(a)}. {a.sentence}{' '}
            {operator && a.remedy && (
              <Anchor component={Link} href={a.remedy.page} inherit c="inherit" underline="always">
                {a.remedy.label}
              </Anchor>
            )}
          </Text>
        </Alert>
      ))}
    </div>
  );
}

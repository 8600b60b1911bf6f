import { Alert, Text } from '@mantine/core';

import { useHealth } from '../api/queries';
import { troubles } from '../words/health';
import { exact } from '../words/times';
import { AlertIcon } from './icons';
import css from './health-banner.module.css';

/** HealthBanner says on every page what does not work, and what that means. */
export function HealthBanner() {
  const { data } = useHealth();
  return (
    <div role="status" className={css.banner}>
      {troubles(data ?? []).map((t) => (
        <Alert
          key={t.name}
          data-trouble={t.name}
          color="red"
          variant="light"
          radius={0}
          icon={<AlertIcon />}
          title={t.title}
          styles={{ title: { color: 'var(--mantine-color-error)' } }}
        >
          <Text size="sm">{t.sentence}</Text>
          {t.detail !== '' && (
            <Text size="sm" mt={4}>
              {t.since === undefined ? t.detail : `Since ${exact(new Date(t.since))}: ${t.detail}`}
            </Text>
          )}
        </Alert>
      ))}
    </div>
  );
}

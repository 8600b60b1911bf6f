import { Button, Group, Stack, Switch, Text } from '@mantine/core';
import { useState } from 'react';

import { alertsOf, canNotify, chime, setAlerts } from '../live/alerts';
import { Dialog } from './dialog';

/** AlertsDialog sets how this browser tells of campaigns that are stopped. */
export default function AlertsDialog({ close }: { close: () => void }) {
  const [alerts, set] = useState(alertsOf);
  const [refused, setRefused] = useState(false);
  const change = (to: Partial<typeof alerts>) => {
    const next = { ...alerts, ...to };
    setAlerts(next);
    set(next);
  };
  const notify = async (on: boolean) => {
    if (on && (await Notification.requestPermission()) !== 'granted') {
      setRefused(true);
      return;
    }
    setRefused(false);
    change({ notification: on });
  };
  return (
    <Dialog title="Alerts" close={close}>
      <Stack>
        <Text size="sm">
          When a campaign stops although nobody stopped it, a red line says so on every page. This browser can tell you
          once more, while the console is open in a tab.
        </Text>
        <Switch
          label="Play a sound"
          checked={alerts.sound}
          onChange={(e) => {
            if (e.currentTarget.checked) void chime();
            change({ sound: e.currentTarget.checked });
          }}
        />
        <Switch
          label="Show a notification"
          description={canNotify ? undefined : 'Only where the console is opened by https or on this machine.'}
          disabled={!canNotify}
          checked={alerts.notification && canNotify}
          error={
            refused ? 'The browser refuses notifications for this address. Allow them in its settings.' : undefined
          }
          onChange={(e) => void notify(e.currentTarget.checked)}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Close
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}

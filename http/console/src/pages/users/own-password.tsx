import { PasswordInput, Stack, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { mistakes } from '../../api/mistakes';
import { useUser } from '../../api/session';
import { useChangePassword } from '../../api/users';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';

/** OwnPassword changes one's own password; everybody may. */
export default function OwnPassword({ close }: { close: () => void }) {
  const { email } = useUser();
  const change = useChangePassword();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const [again, setAgain] = useState('');
  const [differ, setDiffer] = useState(false);
  const { of, rest } = mistakes(change.error, 'current_password', 'new_password');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    setDiffer(next !== again);
    if (next !== again) return;
    change.mutate(
      { current_password: current, new_password: next },
      {
        onSuccess: () =>
          notifications.show({
            color: 'green',
            title: 'The password is changed',
            message: 'Log in with it; your other sessions have ended too.',
          }),
      },
    );
  };
  const eye = { visibilityToggleButtonProps: { 'aria-label': 'Show or hide the password' } };
  return (
    <Dialog close={close} title="Change your password">
      <form onSubmit={submit}>
        <Stack>
          {rest && <Failure title="The password was not changed" problem={rest} />}
          <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
          <PasswordInput
            {...eye}
            label="Current password"
            autoComplete="current-password"
            required
            withAsterisk={false}
            value={current}
            onChange={(e) => setCurrent(e.currentTarget.value)}
            error={of('current_password')}
            data-autofocus
          />
          <PasswordInput
            {...eye}
            label="The new one"
            description="At least 12 characters"
            autoComplete="new-password"
            required
            withAsterisk={false}
            value={next}
            onChange={(e) => setNext(e.currentTarget.value)}
            error={of('new_password')}
          />
          <PasswordInput
            {...eye}
            label="The new one again"
            autoComplete="new-password"
            required
            withAsterisk={false}
            value={again}
            onChange={(e) => setAgain(e.currentTarget.value)}
            error={differ && 'It differs from the one above.'}
          />
          <Text size="sm" c="dimmed">
            All your sessions end, this one too. You log in with the new password.
          </Text>
          <FormButtons close={close} busy={change.isPending} submit="Change" />
        </Stack>
      </form>
    </Dialog>
  );
}

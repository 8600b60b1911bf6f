import { PasswordInput, Radio, Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import type { Role } from '../../api/client';
import { mistakes } from '../../api/mistakes';
import type { User } from '../../api/users';
import { useChangeUser, useCreateUser } from '../../api/users';
import { Dialog } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { Once } from '../../components/once';
import { roles } from '../../words/roles';

const inOrder: Role[] = ['viewer', 'operator', 'admin'];

/** AddUser makes an account; without a password one is generated and shown once. */
export function AddUser({ close }: { close: () => void }) {
  const create = useCreateUser();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('operator');
  const [password, setPassword] = useState('');
  const { of, rest } = mistakes(create.error, 'email', 'role', 'password');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    create.mutate(
      { email: email.trim(), role, ...(password === '' ? {} : { password }) },
      {
        onSuccess: (u) => {
          if (u.password !== undefined) return;
          notifications.show({ color: 'green', message: `Added: ${u.email}` });
          close();
        },
      },
    );
  };
  if (create.data?.password !== undefined)
    return <Password of={create.data.email} password={create.data.password} close={close} />;
  return (
    <Dialog close={close} title="Add a user">
      <form onSubmit={submit}>
        <Stack>
          {rest && <Failure title="The user was not added" problem={rest} />}
          <TextInput
            label="E-mail"
            type="email"
            autoComplete="off"
            required
            withAsterisk={false}
            maxLength={254}
            value={email}
            onChange={(e) => setEmail(e.currentTarget.value)}
            error={of('email')}
            data-autofocus
          />
          <RoleChoice value={role} set={setRole} error={of('role')} />
          <PasswordInput
            label="Password"
            description="At least 12 characters. Empty: one is generated and shown once"
            autoComplete="new-password"
            value={password}
            onChange={(e) => setPassword(e.currentTarget.value)}
            error={of('password')}
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
          />
          <FormButtons close={close} busy={create.isPending} submit="Add" />
        </Stack>
      </form>
    </Dialog>
  );
}

/** ChangeRole gives a user another role. */
export function ChangeRole({ of: user, close }: { of: User; close: () => void }) {
  const change = useChangeUser();
  const [role, setRole] = useState(user.role);
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    change.mutate(
      { id: user.id, change: { role } },
      {
        onSuccess: (u) => {
          notifications.show({
            color: 'green',
            message: `${u.email} is now ${roles[u.role].label.toLocaleLowerCase()}`,
          });
          close();
        },
      },
    );
  };
  return (
    <Dialog close={close} title={`Role of ${user.email}`}>
      <form onSubmit={submit}>
        <Stack>
          {change.error && <Failure title="The role was not changed" problem={change.error} />}
          <RoleChoice value={role} set={setRole} error={undefined} />
          <FormButtons close={close} busy={change.isPending} disabled={role === user.role} />
        </Stack>
      </form>
    </Dialog>
  );
}

function RoleChoice({ value, set, error }: { value: Role; set: (r: Role) => void; error: string | undefined }) {
  return (
    <Radio.Group label="Role" value={value} onChange={set} error={error}>
      <Stack gap={8} mt={6}>
        {inOrder.map((r) => (
          <Radio key={r} value={r} label={roles[r].label} description={roles[r].may} />
        ))}
      </Stack>
    </Radio.Group>
  );
}

/** Password shows a generated password. */
export function Password({ of: email, password, close }: { of: string; password: string; close: () => void }) {
  return (
    <Dialog close={close} closeOnClickOutside={false} closeOnEscape={false} title={`Password of ${email}`}>
      <Once what="the password" secret={password} done={close} />
    </Dialog>
  );
}

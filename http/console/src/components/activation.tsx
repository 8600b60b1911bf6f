import { notifications } from '@mantine/notifications';

import type { Problem } from '../api/problem';
import { Confirm } from './confirm';

interface Props {
  of: string; // its name
  active: boolean;
  /** What it means, a sentence a line. */
  lines: string[];
  change: { isPending: boolean; error: Problem | null };
  carryOut: (answer: { onSuccess: () => void }) => void;
  close: () => void;
}

/** Activation asks before something that is active is deactivated, or the other way. */
export function Activation({ of: name, active, lines, change, carryOut, close }: Props) {
  const verb = active ? 'Deactivate' : 'Activate';
  return (
    <Confirm
      title={`${verb} ${name}?`}
      lines={lines}
      confirm={verb}
      grave={active}
      busy={change.isPending}
      problem={change.error}
      close={close}
      carryOut={() =>
        carryOut({
          onSuccess: () => {
            notifications.show({ color: 'green', message: `${verb}d: ${name}` });
            close();
          },
        })
      }
    />
  );
}

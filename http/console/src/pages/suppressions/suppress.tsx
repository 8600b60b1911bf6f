import { Stack, TextInput, Textarea } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { mistakes } from '../../api/mistakes';
import { useImportSuppressions, useSuppress } from '../../api/suppressions';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { NumbersDialog } from '../../components/numbers-dialog';
import { count, plural } from '../../words/figures';

/** Suppress puts numbers on the list: typed ones, or those of a file. */
export function Suppress({ close }: { close: () => void }) {
  return (
    <NumbersDialog
      title="Block numbers"
      intro={
        'From then on no call to them is begun, in any campaign or outside. Calls that ring are cancelled; ' +
        'conversations go on to their end.'
      }
      typed="Type them"
      send={useImportSuppressions()}
      reasonLength={200}
      told={(r) =>
        `${plural(r.rows, 'row')}: ${count(r.added)} put on the list, ${count(r.known)} on it already, ` +
        `${count(r.invalid)} not readable.`
      }
      close={close}
    >
      <Typed close={close} />
    </NumbersDialog>
  );
}

function Typed({ close }: { close: () => void }) {
  const suppress = useSuppress();
  const [text, setText] = useState('');
  const [reason, setReason] = useState('');
  const numbers = text.split(/[\s,;]+/).filter((n) => n !== '');
  const { of, rest } = mistakes(suppress.error, 'numbers', 'reason');
  const at = /^numbers\[(\d+)\]/.exec(suppress.error?.errors[0]?.field ?? '')?.[1];
  const wrong = of('numbers');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    suppress.mutate(
      { numbers, reason: reason.trim() },
      {
        onSuccess: ({ added, known }) => {
          notifications.show({
            color: 'green',
            message:
              `${plural(added, 'number')} put on the list` +
              (known > 0 ? `, ${count(known)} were on it already.` : '.'),
          });
          close();
        },
      },
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {rest && <Failure title="Nothing was put on the list" problem={rest} />}
        <Textarea
          label="Numbers"
          description="With the country, for example +4915112345678; one a line, 1,000 at most"
          required
          withAsterisk={false}
          autosize
          minRows={3}
          maxRows={10}
          value={text}
          onChange={(e) => setText(e.currentTarget.value)}
          error={wrong && `${at === undefined ? '' : `${numbers[Number(at)] ?? ''}: `}${wrong}`}
          data-autofocus
        />
        <TextInput
          label="Reason"
          description="Shown in the list; empty: manual"
          maxLength={200}
          value={reason}
          onChange={(e) => setReason(e.currentTarget.value)}
          error={of('reason')}
        />
        <FormButtons
          close={close}
          busy={suppress.isPending}
          submit={numbers.length > 1 ? `Leave ${count(numbers.length)} numbers alone` : 'Leave it alone'}
        />
      </Stack>
    </form>
  );
}

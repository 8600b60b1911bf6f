import { Stack, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';

import { useExclude, useImportExclusions } from '../../api/exclusions';
import { mistakes } from '../../api/mistakes';
import { Failure } from '../../components/failure';
import { FormButtons } from '../../components/form-buttons';
import { NumbersDialog } from '../../components/numbers-dialog';
import { count, plural } from '../../words/figures';

/** Exclude has a campaign leave somebody alone: one number, or those of a file. */
export function Exclude({ campaign, close }: { campaign: string; close: () => void }) {
  return (
    <NumbersDialog
      title="Exclude from this campaign"
      intro={
        'From then on no call to them is begun by this campaign. Calls that ring are cancelled; ' +
        'conversations go on to their end.'
      }
      typed="One number"
      send={useImportExclusions(campaign)}
      reasonLength={500}
      told={(r) =>
        `${plural(r.rows, 'row')}: ${count(r.rows - r.invalid)} excluded, ` +
        `${count(r.matched)} of them contacts of this campaign; ${count(r.invalid)} not readable.`
      }
      close={close}
    >
      <Typed campaign={campaign} close={close} />
    </NumbersDialog>
  );
}

function Typed({ campaign, close }: { campaign: string; close: () => void }) {
  const exclude = useExclude(campaign);
  const [number, setNumber] = useState('');
  const [reason, setReason] = useState('');
  const { of, rest } = mistakes(exclude.error, 'mobile', 'reason');
  const submit = (e: SyntheticEvent) => {
    e.preventDefault();
    exclude.mutate(
      { mobile: number.replaceAll(/[\s()./-]/g, '').replace(/^00/, '+'), reason: reason.trim() },
      {
        onSuccess: ({ matched }) => {
          notifications.show({
            color: 'green',
            message:
              matched > 0 ? 'Excluded.' : 'Excluded in advance: the campaign has no contact with this number yet.',
          });
          close();
        },
      },
    );
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {rest && <Failure title="Nobody was excluded" problem={rest} />}
        <TextInput
          label="Number"
          description="With its country, for example +4915112345678"
          required
          withAsterisk={false}
          value={number}
          onChange={(e) => setNumber(e.currentTarget.value)}
          error={of('mobile')}
          data-autofocus
        />
        <TextInput
          label="Reason"
          description="Shown in the list"
          maxLength={500}
          value={reason}
          onChange={(e) => setReason(e.currentTarget.value)}
          error={of('reason')}
        />
        <FormButtons close={close} busy={exclude.isPending} submit="Exclude it" />
      </Stack>
    </form>
  );
}

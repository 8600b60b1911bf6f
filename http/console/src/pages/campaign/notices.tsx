import { Alert } from '@mantine/core';

import type { Problem } from '../../api/problem';
import { AlertIcon, InfoIcon } from '../../components/icons';
import { When } from '../../components/when';
import { completionReason } from '../../words/states';
import { exact } from '../../words/times';
import type { Still } from './still';
import { still } from './still';

/** Notices are what somebody who opens the page has to know first. */
export const Notices = still(function Notices({
  campaign: c,
  stale,
  since,
}: {
  campaign: Still;
  stale: Problem | null;
  since: number;
}) {
  const zone = c.settings.window.zone;
  return (
    <>
      {stale && (
        <Alert color="yellow" icon={<AlertIcon />} title={`Stale since ${exact(new Date(since))}`} role="status">
          These figures are of that time. {stale.message}
        </Alert>
      )}
      {(c.status === 'failed' || (c.status === 'completed' && c.failure_reason)) && (
        <Alert
          color="red"
          icon={<AlertIcon />}
          title={c.status === 'failed' ? 'The campaign failed' : 'The run that is shown failed'}
        >
          {c.failure_reason ?? 'The reason was not recorded.'}
        </Alert>
      )}
      {c.prepared && (
        <Alert color="indigo" icon={<InfoIcon />} title={`Run ${c.prepared.run} is prepared`} data-notice="prepared">
          {c.prepared.by && <>Restarted by {c.prepared.by.name}</>}
          {c.prepared.at && (
            <>
              , <When at={c.prepared.at} zone={zone} />
            </>
          )}
          . Dialling has not started: press Start, or Cancel Restart to have run {c.prepared.run - 1} shown again.
          {c.prepared.only_unreached && ' Only contacts that were not reached are called.'}
        </Alert>
      )}
      {c.status === 'completed' && c.completion_reason && (
        <Alert color="blue" icon={<InfoIcon />} title="Completed" data-reason={c.completion_reason}>
          Reason: {completionReason[c.completion_reason]}.{c.draining && ' Draining: the last conversations finish.'}
        </Alert>
      )}
    </>
  );
});

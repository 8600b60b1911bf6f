import { Alert } from '@mantine/core';

import type { Campaign } from '../../api/client';
import type { Problem } from '../../api/problem';
import { AlertIcon, InfoIcon } from '../../components/icons';
import { When } from '../../components/when';
import { completionReason } from '../../words/states';

/** Notices are what somebody who opens the page has to know first. */
export function Notices({ campaign: c, stale }: { campaign: Campaign; stale: Problem | null }) {
  const zone = c.settings.window.zone;
  return (
    <>
      {stale && (
        <Alert color="yellow" icon={<AlertIcon />} title="These figures may be old" role="status">
          {stale.message}
        </Alert>
      )}
      {c.status === 'failed' && (
        <Alert color="red" icon={<AlertIcon />} title="The campaign failed">
          {c.failure_reason ?? 'The reason was not recorded.'}
        </Alert>
      )}
      {c.prepared_restart && (
        <Alert color="indigo" icon={<InfoIcon />} title={`Run ${c.run} is prepared`}>
          {c.restarted_by && <>Restarted by {c.restarted_by.name}</>}
          {c.restarted_at && (
            <>
              , <When at={c.restarted_at} zone={zone} />
            </>
          )}
          . Dialling has not started: press Start, or Cancel Restart to have run {c.run - 1} shown again.
        </Alert>
      )}
      {c.status === 'completed' && c.completion_reason && (
        <Alert color="blue" icon={<InfoIcon />} title="Completed" data-reason={c.completion_reason}>
          Reason: {completionReason[c.completion_reason]}.{c.draining && ' The last conversations finish.'}
        </Alert>
      )}
    </>
  );
}

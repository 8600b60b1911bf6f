import { Alert } from '@mantine/core';

import { useStale } from '../live/use-live';
import { viewerZone } from '../words/times';
import css from './health-banner.module.css';
import { AlertIcon } from './icons';
import { When } from './when';

/** StaleBar says on every page that its figures are no longer live, and of when they are. */
export function StaleBar() {
  const since = useStale();
  return (
    <div role="status" className={css.banner}>
      {since !== undefined && (
        <Alert
          data-stale-since={since.toISOString()}
          color="yellow"
          variant="light"
          radius={0}
          py="xs"
          icon={<AlertIcon />}
          title={
            <>
              As of <When at={since.toISOString()} zone={viewerZone} precise />
            </>
          }
        >
          The dialler has not answered since. The figures follow as soon as it does.
        </Alert>
      )}
    </div>
  );
}

import { Anchor, Button, Group, Skeleton, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';

import { useChange } from '../../api/change';
import type { Schemas } from '../../api/client';
import { api, data } from '../../api/client';
import { rejectedFile } from '../../api/imports';
import type { Problem } from '../../api/problem';
import { asProblem } from '../../api/problem';
import { keys } from '../../api/queries';
import { useUser } from '../../api/session';
import { Confirm } from '../../components/confirm';
import { Side } from '../../components/dialog';
import { Failure } from '../../components/failure';
import { Pager } from '../../components/pager';
import { When } from '../../components/when';
import { plural } from '../../words/figures';
import { becameOf, mayTakeBack, staysOf, takenBackOf } from '../../words/lists';
import css from './activity-drawer.module.css';
import type { Still } from './still';

type Import = Schemas['Import'];

const pageSize = 20;

/** How often lists are looked at while one of them is at work. */
const lookMs = 1000;

/** ListsDrawer shows the files that were added to the campaign, the newest first, and takes a wrong one back. */
export default function ListsDrawer({ campaign: c, close }: { campaign: Still; close: () => void }) {
  const { role } = useUser();
  const [page, setPage] = useState(1);
  const [asked, setAsked] = useState<Import>();
  const query = useQuery({
    queryKey: [...keys.imports(c.campaign_id), 'list', page],
    queryFn: ({ signal }) =>
      data(
        api.GET('/api/v1/campaigns/{campaign_id}/imports', {
          params: { path: { campaign_id: c.campaign_id }, query: { page, page_size: pageSize } },
          signal,
        }),
      ),
    placeholderData: (old) => old,
    refetchInterval: (q) => (q.state.data?.imports.some(atWork) ? lookMs : false),
  });
  const lists = query.data?.imports.filter((i) => !i.dry_run);
  return (
    <Side close={close} size="lg" title="Uploaded lists">
      <Stack gap="sm">
        {query.isPending && <Skeleton height={160} role="status" aria-label="Loading" />}
        {query.isError && (
          <Failure
            title="The lists cannot be shown"
            problem={asProblem(query.error)}
            retry={() => void query.refetch()}
          />
        )}
        {lists?.length === 0 && (
          <Text size="sm" c="dimmed">
            {(query.data?.total ?? 0) > pageSize
              ? 'The files of this page were only checked.'
              : 'No file has been added to this campaign.'}
          </Text>
        )}
        {lists !== undefined && lists.length > 0 && (
          <ol className={css.log} aria-label="Uploaded lists">
            {lists.map((i) => (
              <li key={i.import_id} className={css.entry} data-list={i.import_id}>
                <Group justify="space-between" gap="sm" wrap="nowrap" align="baseline">
                  <Text size="sm" fw={600} truncate title={i.filename}>
                    {i.filename}
                  </Text>
                  <Text component="div" size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
                    <When at={i.created_at} zone={c.settings.window.zone} precise />
                  </Text>
                </Group>
                <Text size="sm" c="dimmed">
                  {i.created_by.name} · {becameOf(i)}
                </Text>
                {i.undo && (
                  <Text size="sm" role="status" data-undo={i.undo.state}>
                    {takenBackOf(i.undo)}
                  </Text>
                )}
                <Group gap="md" mt={4}>
                  {i.invalid + i.duplicate + i.excluded > 0 && (
                    <Anchor size="sm" href={rejectedFile(i)} download>
                      Download the rows that were left out
                    </Anchor>
                  )}
                  {mayTakeBack(c, role, i) && (
                    <Button size="compact-sm" variant="default" onClick={() => setAsked(i)}>
                      Take back…
                    </Button>
                  )}
                </Group>
              </li>
            ))}
          </ol>
        )}
        {query.data !== undefined && query.data.total > pageSize && (
          <Pager page={page} size={pageSize} total={query.data.total} go={setPage} />
        )}
      </Stack>
      {asked && <TakeBack list={asked} close={() => setAsked(undefined)} />}
    </Side>
  );
}

const atWork = (i: Import) => i.state === 'staging' || i.state === 'activating' || i.undo?.state === 'in_progress';

/** TakeBack says what would go and what would stay before it asks for it. */
function TakeBack({ list: i, close }: { list: Import; close: () => void }) {
  const path = { campaign_id: i.campaign_id, import_id: i.import_id };
  const preview = useQuery<Schemas['UndoCounts'], Problem>({
    queryKey: [...keys.imports(i.campaign_id), i.import_id, 'undo'],
    queryFn: ({ signal }) =>
      data(api.GET('/api/v1/campaigns/{campaign_id}/imports/{import_id}/undo', { params: { path }, signal })),
    gcTime: 0,
  });
  const undo = useChange(
    () => api.POST('/api/v1/campaigns/{campaign_id}/imports/{import_id}/undo', { params: { path } }),
    keys.imports(i.campaign_id),
    keys.contacts(i.campaign_id),
  );
  const lines = preview.data && [
    `${plural(preview.data.taken_back, 'contact')} of ${i.filename} will be deleted.`,
    ...staysOf(preview.data),
    'This cannot be undone; the file can be added again.',
  ];
  return (
    <Confirm
      title="Take this list back?"
      lines={lines ?? ['Counting what would go…']}
      confirm="Take it back"
      grave
      busy={undo.isPending || preview.isPending}
      problem={undo.error ?? preview.error}
      carryOut={() => (preview.error ? void preview.refetch() : undo.mutate(undefined, { onSuccess: close }))}
      close={close}
      overDrawer
    />
  );
}

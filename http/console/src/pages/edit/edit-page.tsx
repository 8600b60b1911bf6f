import { Alert, Anchor, Button, Center, Group, Loader, Paper, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { SyntheticEvent } from 'react';
import { useState } from 'react';
import { Link, useLocation } from 'wouter';

import type { Campaign } from '../../api/client';
import { useCampaign, useEdit } from '../../api/queries';
import { may, useUser } from '../../api/session';
import { Failure } from '../../components/failure';
import { InfoIcon, LeftIcon } from '../../components/icons';
import { PageBody } from '../../components/page';
import { mayEdit } from '../../words/commands';
import type { Settings } from '../../words/settings';
import { different, lockedOnceRun, merged, nameOf, patchOf } from '../../words/settings';
import { campaignStatus } from '../../words/states';
import { NotFoundPage } from '../not-found-page';
import { BasicsFields, PoolFields, basicsSettings, poolSettings } from '../settings/basics-fields';
import { DiallerFields, diallerSettings } from '../settings/dialler-fields';
import { useForm } from '../settings/draft';
import { Conflict } from './conflict';

export default function EditPage({ params }: { params: Record<string, string> }) {
  const id = decodeURIComponent(params['id'] ?? '');
  const { data: campaign, error, link, refetch } = useCampaign(id);
  const { role } = useUser();
  if (link === 'gone' || error?.status === 404) return <NotFoundPage what="campaign" />;
  if (campaign === undefined) {
    return (
      <PageBody title="Edit">
        {error ? (
          <Failure title="The campaign cannot be shown" problem={error} retry={() => void refetch()} />
        ) : (
          <Center h="60vh">
            <Loader aria-label="Loading" />
          </Center>
        )}
      </PageBody>
    );
  }
  const back = `/campaigns/${encodeURIComponent(id)}`;
  return (
    <PageBody title={`Edit ${campaign.settings.name}`}>
      <Stack maw={900}>
        <div>
          <Anchor
            component={Link}
            href={back}
            size="sm"
            c="dimmed"
            display="inline-flex"
            style={{ alignItems: 'center', gap: 4 }}
          >
            <LeftIcon size={14} /> {campaign.settings.name}
          </Anchor>
          <Title order={1} size="h2" mt={4}>
            Edit
          </Title>
        </div>
        {may(role, 'operator') ? (
          <EditForm key={id} campaign={campaign} back={back} />
        ) : (
          <Alert color="yellow" icon={<InfoIcon />} title="View only">
            Editing needs the role operator.
          </Alert>
        )}
      </Stack>
    </PageBody>
  );
}

const placed = new Set<string>([...basicsSettings, ...poolSettings, ...diallerSettings]);

/** What was edited: settings and the version that they had. */
interface Base {
  settings: Settings;
  version: number;
}

/** EditForm edits the settings as they were when it was opened, and shows what others change meanwhile. */
function EditForm({ campaign: c, back }: { campaign: Campaign; back: string }) {
  const [base, setBase] = useState<Base>({ settings: c.settings, version: c.version });
  const [locked] = useState(() => (c.ever_run ? lockedOnceRun : new Set<string>()));
  const form = useForm(c.settings, { locked });
  const edit = useEdit(c.campaign_id);
  const [, go] = useLocation();

  const stale = c.version !== base.version;
  const changed = different(base.settings, form.draft);
  const leave = () => go(back);
  const save = (e: SyntheticEvent) => {
    e.preventDefault();
    if (!form.check()) return;
    if (changed.length === 0) {
      leave();
      return;
    }
    edit.mutate(
      { ...patchOf(base.settings, form.draft), version: base.version },
      {
        onSuccess: (after) => {
          notifications.show({ color: 'green', message: `Saved: ${changed.map(nameOf).join(', ')}` });
          if (after.status === 'draft' || after.status === 'paused') leave();
        },
        onError: (p) => form.refused(p),
      },
    );
  };
  const conflict = edit.error?.code === 'version_conflict' ? (edit.error.current as Base | undefined) : undefined;
  const now: Base | undefined = stale
    ? { settings: c.settings, version: c.version }
    : conflict && conflict.version !== base.version
      ? conflict
      : undefined;
  const takeOver = (keptMine: ReadonlySet<string>) => {
    if (now === undefined) return;
    form.replace(merged(base.settings, now.settings, form.draft, keptMine));
    setBase(now);
    edit.reset();
  };
  const problem = edit.error;
  const elsewhere =
    problem !== null &&
    problem.code !== 'version_conflict' &&
    (problem.errors.length === 0 || problem.errors.some((e) => !placed.has(e.field.replace(/\[.*$/, ''))));
  if (!mayEdit(c)) {
    return (
      <Alert
        color="yellow"
        icon={<InfoIcon />}
        title={`The campaign is ${campaignStatus[c.status].label.toLowerCase()}`}
      >
        <Text size="sm">
          Settings are editable in a draft and while paused.
          {c.status === 'running' && ' Pause the campaign, then edit it.'}
        </Text>
        {changed.length > 0 && (
          <Text size="sm">What you changed and did not save: {changed.map(nameOf).join(', ')}.</Text>
        )}
        <Button component={Link} href={back} size="xs" variant="default" mt="sm">
          Back to the campaign
        </Button>
      </Alert>
    );
  }
  return (
    <form onSubmit={save} noValidate>
      <Stack>
        {now !== undefined && (
          <Conflict
            campaign={c}
            before={base.settings}
            now={now}
            draft={form.draft}
            takeOver={takeOver}
            discard={leave}
          />
        )}
        {elsewhere && <Failure title="The settings were not saved" problem={problem} />}
        <Paper withBorder p="md" component="section" aria-label="Basics">
          <BasicsFields form={form} />
        </Paper>
        <Paper withBorder p="md" component="section" aria-label="Numbers">
          <PoolFields form={form} />
        </Paper>
        <Paper withBorder p="md" component="section" aria-label="Dialler configuration">
          <DiallerFields form={form} />
        </Paper>
        <Group justify="space-between" gap="xs">
          <Text size="sm" c="dimmed" role="status">
            {changed.length === 0 ? 'Nothing is changed.' : `Changed: ${changed.map(nameOf).join(', ')}`}
          </Text>
          <Group gap="xs">
            <Button variant="default" component={Link} href={back}>
              Cancel
            </Button>
            <Button type="submit" loading={edit.isPending} disabled={now !== undefined}>
              Save
            </Button>
          </Group>
        </Group>
      </Stack>
    </form>
  );
}

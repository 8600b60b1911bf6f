import { Anchor, Button, Group, Paper, Stack, Text, Title } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { Link, useLocation, useSearchParams } from 'wouter';

import type { Campaign } from '../../api/client';
import type { Problem } from '../../api/problem';
import { useCreateCampaign, useEdit } from '../../api/queries';
import { useUser } from '../../api/session';
import { Failure } from '../../components/failure';
import { LeftIcon } from '../../components/icons';
import type { Draft } from '../../words/mistakes';
import { different, lockedOnceRun, patchOf } from '../../words/settings';
import { BasicsFields, PoolFields, basicsSettings, poolSettings } from '../settings/basics-fields';
import { DiallerFields, diallerSettings } from '../settings/dialler-fields';
import { blank, useForm } from '../settings/draft';
import { drop, keep, kept, keyOf } from './kept-draft';
import { ContactsStep, ReviewStep } from './last-steps';
import { Steps } from './steps';

const steps = [
  { id: 'basics', label: 'Basics', fields: basicsSettings },
  { id: 'numbers', label: 'Number pool', fields: poolSettings },
  { id: 'dialler', label: 'Dialler', fields: diallerSettings },
  { id: 'contacts', label: 'Contacts', fields: [] as readonly string[] },
  { id: 'review', label: 'Review', fields: [] as readonly string[] },
] as const;

type StepId = (typeof steps)[number]['id'];

/** After the third step the campaign is a draft of the server's: contacts and preflight need one. */
const saveAfter: StepId = 'dialler';

/** An address that is empty is none. */
function request(d: Draft): Draft {
  const { config_url, eligibility_url, ...rest } = d;
  return {
    ...rest,
    name: d.name.trim(),
    ...(config_url === undefined || config_url === '' ? {} : { config_url }),
    ...(eligibility_url === undefined || eligibility_url === '' ? {} : { eligibility_url }),
  };
}

/** Wizard leads from a name to a campaign that can start. Without a campaign it is a new one. */
export function Wizard({ campaign: c }: { campaign?: Campaign }) {
  const user = useUser();
  const [search, setSearch] = useSearchParams();
  const [, go] = useLocation();
  const asked = steps.find((s) => s.id === search.get('step'))?.id ?? 'basics';
  const at: StepId = c === undefined && (asked === 'contacts' || asked === 'review') ? 'basics' : asked;
  const key = keyOf(user.email, c);
  const form = useForm(kept(key) ?? c?.settings ?? blank, {
    keep: (d) => keep(key, d),
    ...(c?.ever_run ? { locked: lockedOnceRun } : {}),
  });
  const create = useCreateCampaign();
  const edit = useEdit(c?.campaign_id ?? '');
  const [problem, setProblem] = useState<Problem>();
  const busy = create.isPending || edit.isPending;
  const [waits, setWaits] = useState(false); // a file that was chosen and not added
  const [sending, setSending] = useState(false); // leaving the step would end it

  const show = (id: StepId) => setSearch({ step: id });
  const index = steps.findIndex((s) => s.id === at);
  const step = steps[index] ?? steps[0];
  const after = steps[index + 1];
  const before = steps[index - 1];

  const refused = (p: Problem) => {
    setProblem(p);
    form.refused(p);
    const wrong = steps.find((s) => p.errors.some((e) => s.fields.includes(e.field.replace(/\[.*$/, ''))));
    if (wrong) show(wrong.id);
  };
  const saved = (after: Campaign, next: StepId) => {
    drop(key);
    setProblem(undefined);
    go(`/campaigns/${encodeURIComponent(after.campaign_id)}/set-up?step=${next}`, { replace: c === undefined });
  };
  const next = () => {
    if (after === undefined || !form.check(step.fields)) return;
    if (c === undefined) {
      if (at !== saveAfter) show(after.id);
      else if (form.check())
        create.mutate(request(form.draft), { onSuccess: (made) => saved(made, after.id), onError: refused });
      else show(steps.find((s) => s.fields.some((f) => form.error(f) !== undefined))?.id ?? 'basics');
      return;
    }
    if (different(c.settings, form.draft).length === 0) {
      show(after.id);
      return;
    }
    edit.mutate(
      { ...patchOf(c.settings, form.draft), version: c.version },
      { onSuccess: (changed) => saved(changed, after.id), onError: refused },
    );
  };
  const discard = () => {
    drop(key);
    form.replace(blank);
    go('/campaigns');
    notifications.show({ message: 'Draft discarded' });
  };
  const beside =
    problem !== undefined &&
    problem.errors.length > 0 &&
    problem.errors.every((e) => steps.some((s) => s.fields.includes(e.field.replace(/\[.*$/, ''))));
  return (
    <Stack maw={900}>
      <div>
        <Anchor
          component={Link}
          href={c === undefined ? '/campaigns' : `/campaigns/${encodeURIComponent(c.campaign_id)}`}
          size="sm"
          c="dimmed"
          display="inline-flex"
          style={{ alignItems: 'center', gap: 4 }}
        >
          <LeftIcon size={14} /> {c === undefined ? 'Campaigns' : c.settings.name}
        </Anchor>
        <Title order={1} size="h2" mt={4}>
          {c === undefined ? 'New campaign' : `Set up ${c.settings.name}`}
        </Title>
      </div>
      <Steps
        steps={steps}
        current={at}
        reach={(id) => !sending && (c !== undefined || steps.findIndex((s) => s.id === id) < index)}
        go={(id) => show(id as StepId)}
      />
      {problem && !beside && <Failure title="That was not saved" problem={problem} />}
      <Paper withBorder p={{ base: 'md', sm: 'lg' }} component="section" aria-label={step.label}>
        <form
          noValidate
          onSubmit={(e) => {
            e.preventDefault();
            next();
          }}
        >
          {at === 'basics' && <BasicsFields form={form} />}
          {at === 'numbers' && <PoolFields form={form} />}
          {at === 'dialler' && <DiallerFields form={form} />}
          {at === 'contacts' && c && <ContactsStep campaign={c} waits={setWaits} busy={setSending} />}
          {at === 'review' && c && <ReviewStep campaign={c} />}
          <Group justify="space-between" mt="lg" gap="xs">
            <Group gap="xs">
              {before && (
                <Button variant="default" disabled={sending} onClick={() => show(before.id)}>
                  Back
                </Button>
              )}
              {c === undefined && (
                <Button variant="subtle" color="gray" onClick={discard}>
                  Discard
                </Button>
              )}
            </Group>
            {after && (
              <Button type="submit" loading={busy} disabled={sending} variant={waits ? 'default' : 'filled'}>
                {at === saveAfter && c === undefined ? 'Save the draft and go on' : waits ? 'Go on without it' : 'Next'}
              </Button>
            )}
          </Group>
        </form>
      </Paper>
      {c === undefined && (
        <Text size="sm" c="dimmed">
          Kept in this browser only until you save the draft.
        </Text>
      )}
    </Stack>
  );
}

import { Button, Group, Paper, Skeleton, Stack, Text, Title, UnstyledButton } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import type { ReactNode } from 'react';
import { useEffect, useId, useRef, useState } from 'react';

import { may, useUser } from '../../api/session';
import type { SetUp as Progress, StepName } from '../../api/set-up';
import { useHideSetUp, useModel, useSetUp } from '../../api/set-up';
import { useBotHealth, useNumberHealth, useTrunks } from '../../api/telephony';
import { Failure } from '../../components/failure';
import { CheckIcon, DownIcon, RightIcon } from '../../components/icons';
import { ToneBadge } from '../../components/tone-badge';
import type { State } from '../../words/set-up';
import { botState, carrierState, next, numberStateOf, steps } from '../../words/set-up';
import { CallStep } from './call-step';
import css from './set-up.module.css';
import { BotStep, CarrierStep, NumberStep } from './steps';

/** SetUp is the checklist of a new installation: each step is done where it stands. */
export default function SetUp() {
  const query = useSetUp({ follow: true });
  if (query.data !== undefined) return <Checklist setUp={query.data} />;
  if (query.isError)
    return <Failure title="The set-up cannot be shown" problem={query.error} retry={() => void query.refetch()} />;
  return <Skeleton height={320} radius="md" role="status" aria-label="Loading" />;
}

function Checklist({ setUp }: { setUp: Progress }) {
  const admin = may(useUser().role, 'admin');
  const trunks = useTrunks().data;
  const numbers = useNumberHealth().data;
  const bots = useBotHealth().data;
  const [open, setOpen] = useState<StepName | null>(admin ? (next(setUp) ?? 'call') : null);
  // Whoever chose a step stays there until it is saved; otherwise the next one opens as soon as one is done, and not
  // before: nobody is taken away from what they type.
  const [leads, setLeads] = useState(true);
  const [edition, setEdition] = useState(0); // of the fields: another one shows anew what is stored
  if (leads && setUp.steps.some((s) => s.step === open && s.done && s.step !== 'call')) setOpen(next(setUp) ?? 'call');
  const list = useRef<HTMLOListElement>(null);
  const before = useRef(open);
  // A step was done, and its fields are gone: whoever types goes on in the next one.
  useEffect(() => {
    if (before.current === open) return;
    before.current = open;
    if (document.activeElement === null || document.activeElement === document.body)
      list.current?.querySelector<HTMLElement>('[data-first]')?.focus();
  }, [open]);
  const done = setUp.steps.filter((s) => s.done).length;
  const [carrier, callerID, botStep] = setUp.steps;
  const trunk = trunks?.find((t) => t.id === carrier?.with);
  const number = numbers?.find((n) => n.number === callerID?.with) ?? numbers?.[0];
  const bot = bots?.find((b) => b.id === botStep?.with);
  const standing: Partial<Record<StepName, State>> = {
    ...(trunk && { carrier: carrierState(trunk) }),
    ...(number && { caller_id: numberStateOf(number) }),
    ...(bot && { bot: botState(bot) }),
  };
  const saved = () => setLeads(true);
  const anew = () => {
    setEdition((n) => n + 1);
    saved();
  };
  const toggle = (step: StepName) => {
    setLeads(false);
    setOpen(open === step ? null : step);
  };
  const inside: Record<StepName, ReactNode> = {
    carrier: trunks && (
      <CarrierStep
        key={edition}
        trunks={trunks}
        {...(trunk === undefined ? {} : { of: trunk })}
        saved={saved}
        changed={anew}
      />
    ),
    caller_id: numbers && <NumberStep {...(number === undefined ? {} : { of: number })} saved={saved} />,
    bot: bots && (
      <BotStep key={edition} bots={bots} {...(bot === undefined ? {} : { of: bot })} saved={saved} changed={anew} />
    ),
    call: <CallStep setUp={setUp} {...(bot === undefined ? {} : { bot })} />,
  };
  return (
    <Paper withBorder component="section" aria-labelledby="set-up" className={css.card}>
      <Group justify="space-between" className={css.head} gap="md">
        <Stack gap={2} maw={640}>
          <Title order={2} id="set-up" size="h3">
            {setUp.complete ? 'The dialler is ready to call' : 'Four steps to your first call'}
          </Title>
          <Text size="sm" c="dimmed">
            {admin
              ? setUp.complete
                ? 'Next, a campaign calls a list of contacts.'
                : 'Each is tried as soon as it is saved. Everything can be changed later.'
              : 'An administrator does them; then campaigns can call.'}
          </Text>
        </Stack>
        <Group gap="xs">
          <Text size="sm" className="figure" data-done={done}>
            {done} of {setUp.steps.length} done
          </Text>
          {admin && <Hide hidden={setUp.hidden} />}
        </Group>
      </Group>
      {admin && setUp.model !== null && !setUp.complete && <ModelOffer model={setUp.model} used={anew} />}
      <ol className={css.steps} ref={list}>
        {setUp.steps.map((s, i) => (
          <Step
            key={s.step}
            number={i + 1}
            name={s.step}
            done={s.done}
            standing={standing[s.step]}
            {...(admin ? { toggle: () => toggle(s.step) } : {})}
          >
            {open === s.step ? inside[s.step] : undefined}
          </Step>
        ))}
      </ol>
    </Paper>
  );
}

/** Step is one line of the checklist, and what is done there while it is open. */
function Step({
  number,
  name,
  done,
  standing,
  toggle,
  children,
}: {
  number: number;
  name: StepName;
  done: boolean;
  standing: State | undefined;
  toggle?: () => void;
  children: ReactNode;
}) {
  const id = useId();
  const open = children !== undefined;
  const { title, purpose } = steps[name];
  const line = (
    <Group component="span" gap="md" wrap="nowrap" align="center">
      <span className={css.mark} data-done={done || undefined} data-tone={done ? 'green' : 'grey'}>
        {done ? <CheckIcon size={16} /> : number}
      </span>
      <span className={css.words}>
        <Text span fw={600} id={id}>
          {title}
        </Text>
        <Text span size="sm" c="dimmed" className={css.purpose}>
          {done && standing ? standing.sentence : purpose}
        </Text>
      </span>
      {done ? (
        <ToneBadge tone="green" label="Done" />
      ) : (
        standing && <ToneBadge tone={standing.tone} label={standing.label} alive={standing.label === 'Trying'} />
      )}
      {toggle && (open ? <DownIcon size={18} /> : <RightIcon size={18} />)}
    </Group>
  );
  return (
    <li className={css.step} data-step={name} data-done={done || undefined}>
      {toggle ? (
        <UnstyledButton className={css.line} onClick={toggle} aria-expanded={open}>
          {line}
        </UnstyledButton>
      ) : (
        <div className={css.line}>{line}</div>
      )}
      {open && (
        <div className={css.inside} role="group" aria-labelledby={id}>
          {children}
        </div>
      )}
    </li>
  );
}

function Hide({ hidden }: { hidden: boolean }) {
  const hide = useHideSetUp();
  return (
    <Button
      variant="default"
      size="sm"
      loading={hide.isPending}
      onClick={() =>
        hide.mutate(!hidden, {
          onSuccess: () =>
            notifications.show({
              color: 'green',
              message: hidden
                ? 'The set-up is shown again.'
                : 'The set-up is hidden for everybody. It stays at /dashboard/set-up.',
            }),
          onError: (e) => notifications.show({ color: 'red', title: 'Not saved', message: e.message }),
        })
      }
    >
      {hidden ? 'Show again' : 'Hide'}
    </Button>
  );
}

/** ModelOffer does the first three steps with the model carrier and bot that run beside the dialler. */
function ModelOffer({ model, used }: { model: NonNullable<Progress['model']>; used: () => void }) {
  const use = useModel();
  return (
    <div className={css.offer}>
      {use.error && <Failure title="The models were not set up" problem={use.error} />}
      <Group justify="space-between" gap="md">
        <Text size="sm" maw={560}>
          No carrier or bot yet? A model carrier and a model bot run beside this dialler: whoever is called answers, and
          nobody pays for it.
        </Text>
        <Button
          variant="default"
          loading={use.isPending}
          onClick={() => use.mutate(model, { onSuccess: used })}
          data-model={model.endpoint}
        >
          Try with a model carrier and bot
        </Button>
      </Group>
    </div>
  );
}

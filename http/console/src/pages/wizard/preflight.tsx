import { Alert, List, SimpleGrid, Stack, Text } from '@mantine/core';

import type { Schemas } from '../../api/client';
import { AlertIcon, CheckIcon } from '../../components/icons';
import { When } from '../../components/when';
import { count, plural, seconds, share } from '../../words/figures';
import { sentence } from '../../words/sentence';
import css from './preflight.module.css';

const reasons: Record<string, string> = {
  excluded: 'excluded from the campaign',
  suppressed: 'on the suppression list',
  processed: 'processed already',
  in_progress: 'in a call',
  destination_not_allowed: 'in a country that is not allowed',
};

/** Preflight says what Start would meet: blockers, warnings, who is skipped and why, and how long it will take. */
export function Preflight({ flight: f, zone }: { flight: Schemas['Preflight']; zone: string }) {
  const skipped = f.contacts.skipped.reduce((sum, s) => sum + s.count, 0);
  const e = f.estimate;
  return (
    <Stack data-preflight={f.ready ? 'ready' : 'blocked'}>
      {f.blockers.length > 0 && (
        <Alert color="red" icon={<AlertIcon />} title="The campaign cannot start yet">
          <Findings list={f.blockers} />
        </Alert>
      )}
      {f.warnings.length > 0 && (
        <Alert color="yellow" icon={<AlertIcon />} title="Ready, with warnings">
          <Findings list={f.warnings} />
        </Alert>
      )}
      {f.ready && f.warnings.length === 0 && (
        <Alert color="green" icon={<CheckIcon />} title="Everything is ready">
          Nothing stands in the way of the first dial.
        </Alert>
      )}
      <Text size="sm" data-figure="skipped">
        {skipped === 0
          ? `All ${plural(f.contacts.total, 'contact')} will be dialled.`
          : `${count(skipped)} of ${plural(f.contacts.total, 'contact')} will be skipped: ${f.contacts.skipped
              .filter((s) => s.count > 0)
              .map((s) => `${count(s.count)} ${reasons[s.reason] ?? s.reason}`)
              .join(', ')}.`}
      </Text>
      {e && (
        <>
          <SimpleGrid component="dl" cols={{ base: 2, sm: 4 }} spacing="xs" m={0} className={css.figures}>
            <div>
              <dt>Estimated duration</dt>
              <dd className="figure" data-figure="estimated_duration">
                {seconds(e.duration_s)}
              </dd>
            </div>
            <div>
              <dt>Dials</dt>
              <dd className="figure">{count(e.dials)}</dd>
            </div>
            <div>
              <dt>Answers</dt>
              <dd className="figure">{count(e.answers)}</dd>
            </div>
            <div>
              <dt>Abandoned at most</dt>
              <dd className="figure">{count(e.abandons)}</dd>
            </div>
          </SimpleGrid>
          <Text size="sm" c="dimmed">
            {e.ends_at !== null && (
              <>
                Started now, it would end about <When at={e.ends_at} zone={zone} />.{' '}
              </>
            )}
            {e.measured ? 'From earlier attempts' : 'From usual values'}: {share(e.answer_rate)} of dials are answered,
            a conversation takes {seconds(Math.round(e.aht_s))}. The duration counts time inside the window.
          </Text>
        </>
      )}
    </Stack>
  );
}

function Findings({ list }: { list: Schemas['Finding'][] }) {
  return (
    <List size="sm" spacing={4}>
      {list.map((f) => (
        <List.Item key={`${f.field} ${f.code}`} data-code={f.code}>
          {sentence(f.message)}
        </List.Item>
      ))}
    </List>
  );
}

import { Alert, Button, Group, MultiSelect, Select, SimpleGrid, Stack, Table, Text, TextInput } from '@mantine/core';

import { useBots, useNumbers } from '../../api/queries';
import { AlertIcon } from '../../components/icons';
import { ToneWord } from '../../components/tone-badge';
import { count, plural, share } from '../../words/figures';
import { namesOf } from '../../words/settings';
import type { Tone } from '../../words/states';
import { words } from '../../words/states';
import type { Form } from './draft';
import { OtherFields, SettingField, SettingFields, about } from './inputs';

/** The settings of each group, as the API calls them: where a message of the server belongs. */
export const basicsSettings: readonly string[] = namesOf('basics');
export const poolSettings: readonly string[] = namesOf('pool');

/** BasicsFields asks what the campaign is called, who talks, and how much at once. */
export function BasicsFields({ form }: { form: Form }) {
  const bots = useBots();
  const { draft: d } = form;
  const bot = bots.data?.find((b) => b.id === d.bot_id);
  return (
    <Stack>
      <TextInput
        label="Name"
        description={form.locked('name') ? 'Locked since the campaign ran for the first time' : undefined}
        required
        withAsterisk={false}
        maxLength={200}
        value={d.name}
        onChange={(e) => form.set({ name: e.currentTarget.value })}
        error={form.error('name')}
        disabled={form.locked('name')}
        data-autofocus
      />
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <Select
          label="Bot"
          description={
            form.locked('bot_id')
              ? 'Locked since the campaign ran for the first time'
              : bot
                ? `${plural(bot.seats, 'seat')}: so many conversations at once, of all campaigns`
                : undefined
          }
          inputWrapperOrder={['label', 'input', 'description', 'error']}
          placeholder={bots.data?.length === 0 ? 'No bot is configured' : 'Choose a bot'}
          data={(bots.data ?? []).map((b) => ({ value: b.id, label: b.active ? b.name : `${b.name} (inactive)` }))}
          value={d.bot_id === '' ? null : d.bot_id}
          onChange={(v) => form.set({ bot_id: v ?? '' })}
          error={form.error('bot_id')}
          disabled={form.locked('bot_id')}
          searchable
        />
        <SettingField form={form} name="concurrency" />
      </SimpleGrid>
      {bot && !bot.active && (
        <Alert color="yellow" icon={<AlertIcon />} title="This bot is inactive">
          The campaign can be prepared; nothing is dialled before the bot is activated.
        </Alert>
      )}
      <SettingField form={form} name="always_on" />
      <OtherFields form={form} group="basics" placed={['name', 'bot_id', 'concurrency', 'always_on']} />
    </Stack>
  );
}

const tones: Record<string, Tone> = { active: 'green', resting: 'amber', quarantined: 'red', retired: 'grey' };

/** So many numbers are listed with how they stand. */
const listed = 20;

/** PoolFields asks for the outbound numbers, and shows how they stand. */
export function PoolFields({ form }: { form: Form }) {
  const numbers = useNumbers();
  const pool = form.draft.number_pool ?? [];
  const usable = (numbers.data ?? []).filter((n) => n.state === 'active' || n.state === 'resting').map((n) => n.number);
  const chosen = (numbers.data ?? []).filter((n) => pool.includes(n.number));
  return (
    <Stack>
      <MultiSelect
        {...about('number_pool')}
        placeholder={
          pool.length > 0 ? '' : numbers.data?.length === 0 ? 'No number is configured' : 'Choose outbound numbers'
        }
        data={[...new Set([...(numbers.data ?? []).map((n) => n.number), ...pool])]}
        value={pool}
        onChange={(list) => form.set({ number_pool: list })}
        searchable
        limit={50}
        hidePickedOptions
        error={form.error('number_pool')}
      />
      <Group gap="xs">
        <Button
          size="xs"
          variant="default"
          disabled={usable.length === 0}
          onClick={() => form.set({ number_pool: [...new Set([...pool, ...usable])].slice(0, 1000) })}
        >
          Add all {count(usable.length)} usable
        </Button>
        <Button size="xs" variant="default" disabled={pool.length === 0} onClick={() => form.set({ number_pool: [] })}>
          Remove all
        </Button>
        <Text size="sm" c="dimmed">
          {plural(pool.length, 'number')} chosen
        </Text>
      </Group>
      {chosen.length > 0 && (
        <Table.ScrollContainer
          type="native"
          minWidth={480}
          tabIndex={0}
          role="region"
          aria-label="How the numbers stand"
        >
          <Table fz="sm" aria-label="Chosen numbers">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>Number</Table.Th>
                <Table.Th>State</Table.Th>
                <Table.Th ta="right">In use</Table.Th>
                <Table.Th ta="right">Dials, 24 h</Table.Th>
                <Table.Th ta="right">Answered</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {chosen.slice(0, listed).map((n) => (
                <Table.Tr key={n.number}>
                  <Table.Td className="figure">{n.number}</Table.Td>
                  <Table.Td>
                    <ToneWord tone={tones[n.state] ?? 'grey'} label={words(n.state)} />
                  </Table.Td>
                  <Table.Td ta="right" className="figure">
                    {count('in_use' in n ? (n.in_use as number) : undefined)}
                  </Table.Td>
                  <Table.Td ta="right" className="figure">
                    {count('day_dials' in n ? (n.day_dials as number) : undefined)}
                  </Table.Td>
                  <Table.Td ta="right" className="figure">
                    {share('answer_rate' in n ? (n.answer_rate as number | null) : undefined)}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
          {chosen.length > listed && (
            <Text size="sm" c="dimmed" mt={4}>
              and {count(chosen.length - listed)} more
            </Text>
          )}
        </Table.ScrollContainer>
      )}
      <SettingFields form={form} names={['sticky_number', 'local_match']} />
      <OtherFields form={form} group="pool" placed={['number_pool', 'sticky_number', 'local_match']} />
    </Stack>
  );
}

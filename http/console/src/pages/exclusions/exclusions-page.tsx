import { Anchor, Button, Group, Table, Text, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { useState } from 'react';
import { Link } from 'wouter';

import type { Exclusion } from '../../api/exclusions';
import { useExclusions, useLiftExclusion } from '../../api/exclusions';
import { useCampaign } from '../../api/queries';
import { may, useUser } from '../../api/session';
import { Confirm } from '../../components/confirm';
import { DownloadIcon, PlusIcon, SearchIcon } from '../../components/icons';
import { ActionsHead, Empty, ListingPage, Rows, Sought } from '../../components/listing';
import { Pager } from '../../components/pager';
import { When } from '../../components/when';
import { plural } from '../../words/figures';
import { numberSearch } from '../../words/number-search';
import { viewerZone } from '../../words/times';
import { Exclude } from './exclude';

/** subjectOf names whom an exclusion is about. */
function subjectOf(x: Exclusion): string {
  return (
    x.mobile ??
    Object.entries(x.match ?? {})
      .map(([key, value]) => `${key} = ${value}`)
      .join(' and ')
  );
}

export default function ExclusionsPage({ params }: { params: Record<string, string> }) {
  const id = decodeURIComponent(params['id'] ?? '');
  const operator = may(useUser().role, 'operator');
  const { data: campaign } = useCampaign(id);
  const [page, setPage] = useState(1);
  const [typed, setTyped] = useState('');
  const sought = numberSearch(typed);
  const [settled] = useDebouncedValue(sought.number ?? '', 250);
  const complete = settled !== '';
  const query = useExclusions(id, complete ? 1 : page, settled);
  const [adding, { open, close }] = useDisclosure(false);
  const [lifted, setLifted] = useState<Exclusion>();
  return (
    <ListingPage
      title="Exclusions"
      intro={
        `Whom ${campaign === undefined ? 'this campaign' : campaign.settings.name} leaves alone` +
        (campaign?.settings.sticky_exclusion === false
          ? '; adding somebody again lifts the exclusion.'
          : ', also when they are added again.')
      }
      action={
        <Group gap="xs">
          <Button
            component="a"
            href={`/api/v1/campaigns/${encodeURIComponent(id)}/exclusions.csv`}
            download
            variant="default"
            leftSection={<DownloadIcon size={16} />}
          >
            Download
          </Button>
          {operator && (
            <Button leftSection={<PlusIcon />} onClick={open}>
              Exclude
            </Button>
          )}
        </Group>
      }
      above={
        <Group mb="md" justify="space-between" align="flex-end">
          <TextInput
            type="search"
            label="Find a number"
            description="Whether it is excluded"
            placeholder="+4915112345678"
            leftSection={<SearchIcon size={16} />}
            value={typed}
            error={sought.reason !== undefined}
            onChange={(e) => setTyped(e.currentTarget.value)}
            w={{ base: '100%', sm: 320 }}
          />
          <Anchor component={Link} href={`/campaigns/${encodeURIComponent(id)}`} size="sm">
            Back to the campaign
          </Anchor>
        </Group>
      }
      query={query}
    >
      {(list) => (
        <>
          <Sought search={sought} asked={settled}>
            {list.exclusions.length === 0 ? (
              <Empty title={complete ? `${settled} is not excluded` : 'Nobody is excluded'}>
                {complete
                  ? 'By its number, that is; metadata may exclude its contact.'
                  : 'External systems exclude by number or metadata; you exclude numbers here.'}
              </Empty>
            ) : (
              <Rows
                label="Exclusions"
                minWidth={560}
                heads={
                  <>
                    <Table.Th>Whom</Table.Th>
                    <Table.Th>Reason</Table.Th>
                    <Table.Th>Since</Table.Th>
                    {operator && <ActionsHead />}
                  </>
                }
                foot={<Pager page={page} size={50} total={list.total} go={setPage} />}
              >
                {list.exclusions.map((x) => (
                  <Table.Tr key={subjectOf(x)} data-exclusion={subjectOf(x)}>
                    <Table.Td className="figure" fw={600}>
                      {subjectOf(x)}
                    </Table.Td>
                    <Table.Td>
                      <Text size="sm">{x.reason}</Text>
                    </Table.Td>
                    <Table.Td>
                      <When at={x.created_at} zone={viewerZone} />
                    </Table.Td>
                    {operator && (
                      <Table.Td ta="right">
                        <Button
                          size="xs"
                          variant="subtle"
                          onClick={() => setLifted(x)}
                          aria-label={`Remove the exclusion of ${subjectOf(x)}`}
                        >
                          Remove…
                        </Button>
                      </Table.Td>
                    )}
                  </Table.Tr>
                ))}
              </Rows>
            )}
          </Sought>
          {adding && <Exclude campaign={id} close={close} />}
          {lifted !== undefined && <Lift campaign={id} of={lifted} close={() => setLifted(undefined)} />}
        </>
      )}
    </ListingPage>
  );
}

function Lift({ campaign, of: x, close }: { campaign: string; of: Exclusion; close: () => void }) {
  const lift = useLiftExclusion(campaign);
  return (
    <Confirm
      title={`Remove the exclusion of ${subjectOf(x)}?`}
      lines={[
        'Contacts that nothing else excludes are called again, with fresh attempts, also those that had been finished.',
        'Has the person agreed? The activity log keeps who lifted it, and when.',
      ]}
      confirm="Remove exclusion"
      grave
      busy={lift.isPending}
      problem={lift.error}
      close={close}
      carryOut={() =>
        lift.mutate(x, {
          onSuccess: ({ readmitted }) => {
            notifications.show({
              color: 'green',
              message: `Removed: ${plural(readmitted, 'contact')} can be called again.`,
            });
            close();
          },
        })
      }
    />
  );
}

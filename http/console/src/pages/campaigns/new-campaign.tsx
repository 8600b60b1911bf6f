import { Modal } from '@mantine/core';

export function NewCampaign({ opened, close }: { opened: boolean; close: () => void }) {
  return <Modal opened={opened} onClose={close} title="New campaign" />;
}

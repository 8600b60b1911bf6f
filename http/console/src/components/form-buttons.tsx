import { Button, Group } from '@mantine/core';

/** FormButtons ends a form in a dialog: Cancel, and what sends it. */
export function FormButtons({
  close,
  busy,
  submit = 'Save',
  disabled = false,
}: {
  close: () => void;
  busy: boolean;
  submit?: string;
  disabled?: boolean;
}) {
  return (
    <Group justify="flex-end" gap="xs">
      <Button variant="default" onClick={close}>
        Cancel
      </Button>
      <Button type="submit" loading={busy} disabled={disabled}>
        {submit}
      </Button>
    </Group>
  );
}

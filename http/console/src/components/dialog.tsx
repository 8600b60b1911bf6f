import type { ModalProps } from '@mantine/core';
import { Drawer, Modal, Text } from '@mantine/core';
import type { ReactNode } from 'react';

import { useFocusBack } from './focus-back';

interface Props extends Omit<ModalProps, 'opened' | 'title' | 'onClose'> {
  title: string;
  close: () => void;
  /** It stands over a drawer, which has a header already: a page has one such landmark. */
  overDrawer?: boolean;
  children: ReactNode;
}

/** Dialog stands over the page as long as it is drawn; then what opened it has the focus again. */
export function Dialog({ title, close, overDrawer = false, children, ...how }: Props) {
  useFocusBack();
  if (overDrawer) {
    return (
      <Modal.Root opened onClose={close}>
        <Modal.Overlay />
        <Modal.Content aria-label={title}>
          <Modal.Body>
            <Text fw={650} mb="md" pt="md">
              {title}
            </Text>
            {children}
          </Modal.Body>
        </Modal.Content>
      </Modal.Root>
    );
  }
  return (
    <Modal opened onClose={close} title={<Text fw={650}>{title}</Text>} {...how}>
      {children}
    </Modal>
  );
}

/** Side is a dialog at the edge of the page. */
export function Side({
  title,
  close,
  size,
  children,
}: {
  title: string;
  close: () => void;
  size: string;
  children: ReactNode;
}) {
  useFocusBack();
  return (
    <Drawer opened onClose={close} position="right" size={size} title={<Text fw={650}>{title}</Text>}>
      {children}
    </Drawer>
  );
}

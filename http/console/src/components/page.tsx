import { Box } from '@mantine/core';
import type { ReactNode } from 'react';

import { useAttention } from '../api/attention';

/** PageTitle names the page in the tab, after the number of causes that stop campaigns, if any do. */
export function PageTitle({ of }: { of: string }) {
  const troubles = useAttention().length;
  return <title>{`${troubles > 0 ? `(${troubles}) ` : ''}${of} – Dialler`}</title>;
}

/** PageBody is what a page fills; the title goes to the tab and, read out, says where one is. */
export function PageBody({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Box maw={1480} mx="auto" px={{ base: 'md', lg: 'xl' }} py={{ base: 'md', lg: 28 }}>
      <PageTitle of={title} />
      {children}
    </Box>
  );
}

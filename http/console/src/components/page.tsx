import { Box } from '@mantine/core';
import type { ReactNode } from 'react';

/** PageBody is what a page fills; the title goes to the tab and, read out, says where one is. */
export function PageBody({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Box maw={1480} mx="auto" px={{ base: 'md', lg: 'xl' }} py={{ base: 'md', lg: 28 }}>
      <title>{`${title} – Dialler`}</title>
      {children}
    </Box>
  );
}

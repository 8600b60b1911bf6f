import type { CSSVariablesResolver, MantineColorsTuple } from '@mantine/core';
import { createTheme } from '@mantine/core';

// Quiet surfaces, so that what is coloured is what needs looking at. Text and its ground differ by 4.5 : 1 or more
// (WCAG 2.2, 1.4.3); the browser test measures it.

const slate: MantineColorsTuple = [
  '#e3e7ed',
  '#c0c7d1',
  '#98a2b0',
  '#6b7585',
  '#39414f',
  '#2d3440',
  '#222832',
  '#1a1f27',
  '#14181f',
  '#0e1116',
];

export const theme = createTheme({
  primaryColor: 'indigo',
  primaryShade: { light: 7, dark: 8 },
  colors: { dark: slate },
  defaultRadius: 'md',
  fontFamily:
    "'Inter Variable', system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', Ubuntu, Cantarell, " +
    "'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
  headings: { fontWeight: '650' },
  cursorType: 'pointer',
  focusRing: 'auto',
  respectReducedMotion: true,
  components: {
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300, multiline: true, maw: 320 } },
    // A dialog's header is no landmark of the page.
    Modal: {
      defaultProps: {
        centered: true,
        closeButtonProps: { 'aria-label': 'Close' },
        attributes: { header: { role: 'presentation' } },
      },
    },
    Drawer: {
      defaultProps: { closeButtonProps: { 'aria-label': 'Close' }, attributes: { header: { role: 'presentation' } } },
    },
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Notification: {
      defaultProps: { closeButtonProps: { 'aria-label': 'Close' } },
      styles: { description: { color: 'var(--mantine-color-text)' } },
    },
    Alert: { styles: { title: { color: 'var(--mantine-color-text)' } } },
    Loader: { defaultProps: { type: 'dots' } },
  },
});

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-body': '#ffffff',
    '--mantine-color-dimmed': '#566070',
    '--mantine-color-placeholder': '#667080',
    '--mantine-color-error': '#b42318',
    '--page-ground': '#f5f6f9',
    '--side-ground': '#eef0f5',
    '--hairline': '#e2e5ec',
  },
  dark: {
    '--mantine-color-dimmed': '#98a2b0',
    '--mantine-color-placeholder': '#8b95a4',
    '--mantine-color-error': '#ff9d94',
    '--page-ground': '#14181f',
    '--side-ground': '#10141a',
    '--hairline': '#2a313c',
  },
});

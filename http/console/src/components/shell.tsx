import { AppShell, Badge, Box, Burger, Center, Group, Loader, NavLink, ScrollArea, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense, useEffect, useRef } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';

import { AttentionContext, useAttention, useWatch } from '../api/attention';
import { may, useUser } from '../api/session';
import { useSetUp } from '../api/set-up';
import { useAlerts } from '../live/alerts';
import { useStale } from '../live/use-live';
import { NotForYouPage } from '../pages/not-for-you-page';
import { NotFoundPage } from '../pages/not-found-page';
import { home, pages, sections } from '../routes';
import { AttentionBanner } from './attention-banner';
import { ErrorBoundary } from './error-boundary';
import { HealthBanner } from './health-banner';
import { BookIcon, Brand, ListIcon } from './icons';
import { LinkState } from './link-state';
import { StaleBar } from './stale-bar';
import { SchemeToggle } from './scheme-toggle';
import { SearchButton } from './search-button';
import css from './shell.module.css';
import { UserMenu } from './user-menu';

/** Shell is the frame around every page: what needs attention, navigation, how the page is connected, the user. */
export function Shell() {
  const attention = useWatch();
  useAlerts(attention);
  return (
    <AttentionContext value={attention}>
      <Frame />
    </AttentionContext>
  );
}

function Frame() {
  const [opened, { toggle, close }] = useDisclosure(false);
  const [location] = useLocation();
  const { role } = useUser();
  const stale = useStale();
  // Who reads by ear, or goes by the keyboard, is led to the page that has come.
  const before = useRef(location);
  useEffect(() => {
    if (before.current === location) return;
    before.current = location;
    document.getElementById('content')?.focus({ preventScroll: true });
  }, [location]);
  useEffect(close, [location, close]); // a link was followed: the menu of small screens has done its work
  return (
    <AppShell
      header={{ height: { base: 56, md: 0 } }}
      navbar={{ width: 224, breakpoint: 'md', collapsed: { mobile: !opened } }}
      padding={0}
    >
      <a className="skip-link" href="#content">
        Skip to the content
      </a>
      <AppShell.Header hiddenFrom="md" className={css.header}>
        <Group h="100%" px="md">
          <Burger
            opened={opened}
            onClick={toggle}
            size="sm"
            aria-label={opened ? 'Close the navigation' : 'Open the navigation'}
          />
          <BrandMark />
          <Box ml="auto">
            <SearchButton small />
          </Box>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className={css.side} aria-label="Console">
        <AppShell.Section p="md" visibleFrom="md">
          <BrandMark />
          <Box mt="md">
            <SearchButton listen />
          </Box>
        </AppShell.Section>
        <AppShell.Section grow component={ScrollArea} px="sm" py={{ base: 'sm', md: 0 }}>
          <SetUpLink />
          <Navigation />
          <NavLink
            href="/api/docs"
            target="_blank"
            rel="noopener"
            label="API reference"
            leftSection={<BookIcon />}
            className={css.link}
          />
        </AppShell.Section>
        <AppShell.Section p="sm" className={css.foot}>
          <Group justify="space-between" px={8} pb={8} wrap="nowrap">
            <LinkState />
            <SchemeToggle />
          </Group>
          <UserMenu />
        </AppShell.Section>
      </AppShell.Navbar>
      <AppShell.Main id="content" tabIndex={-1} className={css.main} data-stale={stale !== undefined || undefined}>
        <StaleBar />
        <HealthBanner />
        <AttentionBanner />
        <ErrorBoundary place={location}>
          <Suspense fallback={<Waiting />}>
            <Switch>
              {pages.map(({ path, page, needs }) => (
                <Route
                  key={path}
                  path={path}
                  {...(may(role, needs ?? 'viewer')
                    ? { component: page.Show }
                    : { children: <NotForYouPage needs={needs ?? 'viewer'} /> })}
                />
              ))}
              <Route path="/">
                <Redirect to={home} replace />
              </Route>
              <Route>
                <NotFoundPage />
              </Route>
            </Switch>
          </Suspense>
        </ErrorBoundary>
      </AppShell.Main>
    </AppShell>
  );
}

/** Navigation lists the pages that the user may open, in their sections. */
function Navigation() {
  const [location] = useLocation();
  const { role } = useUser();
  const troubles = useAttention().length;
  const open = pages.filter(({ nav, needs }) => nav && may(role, needs ?? 'viewer'));
  return sections.map((section) => {
    const links = open.filter(({ nav }) => (nav?.section ?? '') === section);
    if (links.length === 0) return null;
    return (
      <Box key={section} role="group" aria-label={section === '' ? 'Campaigns' : section} mb={section === '' ? 0 : 4}>
        {section !== '' && (
          <Text component="div" className={css.section} aria-hidden="true">
            {section}
          </Text>
        )}
        {links.map(
          ({ path, nav }) =>
            nav && (
              <NavLink
                key={path}
                component={Link}
                href={path}
                label={nav.label}
                leftSection={<nav.icon />}
                rightSection={path === home && troubles > 0 && <Troubles count={troubles} />}
                active={location === path || location.startsWith(`${path}/`)}
                aria-current={location === path ? 'page' : undefined}
                className={css.link}
              />
            ),
        )}
      </Box>
    );
  });
}

/** SetUpLink leads to the checklist of a new installation, until it is complete or hidden. */
function SetUpLink() {
  const [location] = useLocation();
  const admin = may(useUser().role, 'admin');
  const setUp = useSetUp({ enabled: admin }).data;
  if (!admin || setUp === undefined || setUp.complete || setUp.hidden) return null;
  return (
    <NavLink
      component={Link}
      href="/set-up"
      label="Set-up"
      leftSection={<ListIcon />}
      rightSection={
        <Text size="xs" c="dimmed" className="figure">
          {setUp.steps.filter((s) => s.done).length} of {setUp.steps.length}
        </Text>
      }
      active={location === '/set-up'}
      aria-current={location === '/set-up' ? 'page' : undefined}
      className={css.link}
    />
  );
}

/** Troubles stands at the link to the campaigns while something stops some. */
function Troubles({ count }: { count: number }) {
  return (
    <Badge color="red" size="sm" circle aria-label={count === 1 ? '1 needs attention' : `${count} need attention`}>
      {count}
    </Badge>
  );
}

function BrandMark() {
  return (
    <Group gap={10}>
      <Brand />
      <Text fw={700} size="lg" component={Link} href={home} className={css.brand}>
        Dialler
      </Text>
    </Group>
  );
}

function Waiting() {
  return (
    <Center h="60vh">
      <Box>
        <Loader aria-label="Loading" />
      </Box>
    </Center>
  );
}

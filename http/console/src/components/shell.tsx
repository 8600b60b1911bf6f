import { AppShell, Box, Burger, Center, Group, Loader, NavLink, ScrollArea, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { Suspense, useEffect, useRef } from 'react';
import { Link, Redirect, Route, Switch, useLocation } from 'wouter';

import { may, useUser } from '../api/session';
import { NotForYouPage } from '../pages/not-for-you-page';
import { NotFoundPage } from '../pages/not-found-page';
import { home, pages, sections } from '../routes';
import { ErrorBoundary } from './error-boundary';
import { HealthBanner } from './health-banner';
import { BookIcon, Brand } from './icons';
import { LinkState } from './link-state';
import { SchemeToggle } from './scheme-toggle';
import css from './shell.module.css';
import { UserMenu } from './user-menu';

/** Shell is the frame around every page: navigation, how the page is connected, colours, the user. */
export function Shell() {
  const [opened, { toggle, close }] = useDisclosure(false);
  const [location] = useLocation();
  const { role } = useUser();
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
        </Group>
      </AppShell.Header>
      <AppShell.Navbar className={css.side} aria-label="Console">
        <AppShell.Section p="md" visibleFrom="md">
          <BrandMark />
        </AppShell.Section>
        <AppShell.Section grow component={ScrollArea} px="sm" py={{ base: 'sm', md: 0 }}>
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
      <AppShell.Main id="content" tabIndex={-1} className={css.main}>
        <HealthBanner />
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

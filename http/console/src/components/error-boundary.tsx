import { Button, Center, Group, Stack, Text, Title } from '@mantine/core';
import type { ErrorInfo, ReactNode } from 'react';
import { Component } from 'react';

interface Props {
  children: ReactNode;
  /** Another value, another page: the fault of the last one is over. */
  place?: string;
}

interface State {
  fault: Error | undefined;
  place: string | undefined;
}

/** ErrorBoundary keeps a fault of one page away from the rest, and says that it is ours. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { fault: undefined, place: this.props.place };

  static getDerivedStateFromError(fault: unknown): Partial<State> {
    return { fault: fault instanceof Error ? fault : new Error(String(fault)) };
  }

  static getDerivedStateFromProps(props: Props, state: State): Partial<State> | null {
    return props.place === state.place ? null : { fault: undefined, place: props.place };
  }

  override componentDidCatch(fault: Error, info: ErrorInfo) {
    console.error(fault, info.componentStack);
  }

  override render() {
    const { fault } = this.state;
    if (fault === undefined) return this.props.children;
    return (
      <Center mih="60vh">
        <Stack align="center" gap="sm" maw={480} ta="center">
          <Title order={1} size="h3">
            This page broke
          </Title>
          <Text c="dimmed">
            That is a fault of the console; campaigns and calls are not touched by it. Loading the page again often
            helps.
          </Text>
          <Text size="sm" ff="monospace" role="alert">
            {fault.message}
          </Text>
          <Group>
            <Button onClick={() => globalThis.location.reload()}>Load again</Button>
            <Button variant="default" component="a" href="/dashboard/campaigns">
              All campaigns
            </Button>
          </Group>
        </Stack>
      </Center>
    );
  }
}

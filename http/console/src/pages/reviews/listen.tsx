import { Box, Button, Group, Kbd, Stack, Text } from '@mantine/core';
import type { KeyboardEvent, RefObject } from 'react';
import { useRef } from 'react';

import type { Problem } from '../../api/problem';
import type { Label, Review } from '../../api/reviews';
import { Card } from '../../components/card';
import { Failure } from '../../components/failure';
import { Player } from '../../components/player';
import { ToneWord } from '../../components/tone-badge';
import { labelFor, verdictOf, verdicts } from '../../words/verdicts';
import css from './reviews.module.css';

interface Props {
  review: Review;
  place: string;
  autoPlay: boolean;
  busy: boolean;
  problem: Problem | null;
  last: { attempt: string; label: Label } | undefined;
  say: (label: Label) => void;
  takeBack: () => void;
  previous: (() => void) | undefined;
  next: (() => void) | undefined;
  region: RefObject<HTMLDivElement | null>;
}

/**
 * Listen plays a call and takes the word of who hears it. Its keys work while the focus is within it, and nowhere else
 * (WCAG 2.1.4).
 */
export function Listen({
  review: r,
  place,
  autoPlay,
  busy,
  problem,
  last,
  say,
  takeBack,
  previous,
  next,
  region,
}: Props) {
  const player = useRef<HTMLAudioElement>(null);
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.repeat) return;
    const label = labelFor(e.key);
    const key = e.key.toLowerCase();
    if (label !== undefined) {
      if (!busy) say(label);
    } else if (key === 'p') {
      const p = player.current;
      if (p?.paused) void p.play();
      else p?.pause();
    } else if (key === 'j') next?.();
    else if (key === 'k') previous?.();
    else if (key === 'z') takeBack();
    else return;
    e.preventDefault();
  };
  return (
    <Card
      title="Who answered?"
      aside={
        <Text size="xs" c="dimmed" className="figure">
          {place}
        </Text>
      }
    >
      {/* The group takes keys for the buttons that are in it. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <div
        ref={region}
        role="group"
        aria-label="Hear the call and say who answered"
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        onKeyDown={onKeyDown}
        className={css.listen}
        data-listen={r.attempt_id}
      >
        <Stack p="md" gap="sm">
          {r.audio_url === undefined ? (
            <Text size="sm" c="dimmed">
              The recording is kept no longer.
            </Text>
          ) : (
            <Player
              key={r.attempt_id}
              address={r.audio_url}
              label="Call"
              shape="Waveform of the callee"
              atOnce
              autoPlay={autoPlay}
              player={player}
            />
          )}
          <Text component="div" size="sm">
            The dialler took it for: <ToneWord {...verdictOf(r.verdict)} />
          </Text>
          {problem && <Failure title="That was not kept" problem={problem} />}
          <Box className={css.keys}>
            {verdicts.map((v) => (
              <Button
                key={v.verdict}
                variant={r.label === v.verdict ? 'filled' : 'default'}
                justify="space-between"
                rightSection={<Kbd size="xs">{v.key.toUpperCase()}</Kbd>}
                disabled={busy}
                aria-keyshortcuts={v.key}
                aria-pressed={r.label === v.verdict}
                onClick={() => say(v.verdict)}
                data-say={v.verdict}
              >
                {v.label}
              </Button>
            ))}
          </Box>
          <Group gap="xs">
            {r.label !== undefined && (
              <Button size="xs" variant="subtle" disabled={busy} onClick={() => say('none')}>
                Remove the label
              </Button>
            )}
            {last !== undefined && last.attempt !== r.attempt_id && (
              <Button
                size="xs"
                variant="subtle"
                disabled={busy}
                rightSection={<Kbd size="xs">Z</Kbd>}
                onClick={takeBack}
              >
                Take back “{verdictOf(last.label).label}”
              </Button>
            )}
          </Group>
          <Group justify="space-between" gap="xs">
            <Text size="xs" c="dimmed">
              <Kbd size="xs">P</Kbd> plays and pauses
            </Text>
            <Group gap="xs">
              <Button
                size="xs"
                variant="default"
                disabled={previous === undefined}
                onClick={() => previous?.()}
                rightSection={<Kbd size="xs">K</Kbd>}
              >
                Previous call
              </Button>
              <Button
                size="xs"
                variant="default"
                disabled={next === undefined}
                onClick={() => next?.()}
                rightSection={<Kbd size="xs">J</Kbd>}
              >
                Next call
              </Button>
            </Group>
          </Group>
          <Text size="xs" c="dimmed" role="status">
            {last === undefined ? '' : `Labelled: ${verdictOf(last.label).label}`}
          </Text>
        </Stack>
      </div>
    </Card>
  );
}

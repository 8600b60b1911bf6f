import { Button, Group, Skeleton, Text } from '@mantine/core';
import type { RefObject } from 'react';
import { useRef, useState } from 'react';

import { useWave } from '../api/audio';
import { outline } from '../words/wave';
import { Failure } from './failure';
import { PlayIcon } from './icons';
import css from './player.module.css';

const parts = 240;
const [width, height] = [720, 64];

interface Props {
  /** Where the WAV file is. */
  address: string;
  /** What it is. */
  label: string;
  /** What the waveform shows. */
  shape: string;
  /** How long it is, as far as that is known before it is there. */
  seconds?: number;
  /** Beside the button that fetches it. */
  about?: string;
  /** It is fetched without being asked for. */
  atOnce?: boolean;
  /** It plays as soon as it is there. */
  autoPlay?: boolean;
  player?: RefObject<HTMLAudioElement | null>;
}

/** Player draws an audio file and plays it. Unless it is wanted at once, nothing is fetched before it is asked for. */
export function Player({ address, label, shape, seconds, about, atOnce = false, autoPlay = false, player }: Props) {
  const [asked, setAsked] = useState(atOnce);
  const [at, setAt] = useState(0);
  const own = useRef<HTMLAudioElement>(null);
  const audio = player ?? own;
  const { data: wave, error, isFetching, refetch } = useWave(address, parts, asked);
  if (error)
    return (
      <Failure title={`The ${label.toLowerCase()} cannot be played`} problem={error} retry={() => void refetch()} />
    );
  if (!asked) {
    return (
      <Group gap="sm">
        <Button size="xs" variant="default" leftSection={<PlayIcon size={14} />} onClick={() => setAsked(true)}>
          {label}
        </Button>
        <Text size="sm" c="dimmed" className="figure">
          {about}
        </Text>
      </Group>
    );
  }
  if (wave === undefined) return isFetching ? <Skeleton height={height} role="status" aria-label="Loading" /> : null;
  const long = wave?.seconds ?? seconds ?? 0;
  return (
    <div>
      {wave && (
        <svg
          viewBox={`0 0 ${width} ${height}`}
          className={css.wave}
          preserveAspectRatio="none"
          role="img"
          aria-label={shape}
        >
          <path d={outline(wave, width, height)} />
          {long > 0 && <line x1={(at / long) * width} x2={(at / long) * width} y1={0} y2={height} />}
        </svg>
      )}
      {/* A call has no captions; what was said of it is in its disposition. */}
      {/* eslint-disable-next-line jsx-a11y/media-has-caption */}
      <audio
        ref={audio}
        controls
        preload="metadata"
        autoPlay={autoPlay}
        src={address}
        className={css.player}
        aria-label={label}
        onTimeUpdate={(e) => setAt(e.currentTarget.currentTime)}
      />
    </div>
  );
}

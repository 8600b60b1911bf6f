import { Button, Group, Text } from '@mantine/core';
import { useRef, useState } from 'react';

import type { Attempt } from '../../api/client';
import { noteRefusal } from '../../api/client';
import { Problem, asProblem, problemOf } from '../../api/problem';
import { Failure } from '../../components/failure';
import { PlayIcon } from '../../components/icons';
import { seconds, size } from '../../words/figures';
import type { Wave } from '../../words/wave';
import { outline, waveOf } from '../../words/wave';
import css from './contact.module.css';

const parts = 240;
const [width, height] = [720, 64];

/** Recording plays what was recorded: the callee above the middle, the bot below it. Nothing is fetched before it is asked for. */
export function Recording({ attempt: a }: { attempt: Attempt }) {
  const r = a.recording;
  const [wave, setWave] = useState<Wave | null>();
  const [problem, setProblem] = useState<Problem>();
  const [at, setAt] = useState(0);
  const player = useRef<HTMLAudioElement>(null);
  if (!r) return null;
  if (r.url === undefined) {
    return (
      <Text size="sm" c="dimmed">
        The recording is kept no longer.
      </Text>
    );
  }
  const address = `/api/v1/recordings/${encodeURIComponent(a.attempt_id)}`;
  const load = async () => {
    setProblem(undefined);
    try {
      const answer = await fetch(address);
      if (!answer.ok) throw problemOf(answer.status, await answer.text(), answer.headers.get('Retry-After'));
      setWave(waveOf(await answer.arrayBuffer(), parts) ?? null);
    } catch (e) {
      const p = asProblem(e);
      noteRefusal(p);
      setProblem(p);
    }
  };
  const long = wave?.seconds ?? r.duration_s;
  return (
    <div>
      {problem && <Failure title="The recording cannot be played" problem={problem} retry={() => void load()} />}
      {wave === undefined && !problem && (
        <Group gap="sm">
          <Button size="xs" variant="default" leftSection={<PlayIcon size={14} />} onClick={() => void load()}>
            Recording
          </Button>
          <Text size="sm" c="dimmed" className="figure">
            {seconds(Math.round(r.duration_s))}, {size(r.bytes)}
            {r.incomplete && '; some of it is missing'}
          </Text>
        </Group>
      )}
      {wave !== undefined && (
        <>
          {wave && (
            <svg viewBox={`0 0 ${width} ${height}`} className={css.wave} preserveAspectRatio="none" role="img" aria-label="Waveform: the callee above the middle, the bot below">
              <path d={outline(wave, width, height)} />
              {long > 0 && <line x1={(at / long) * width} x2={(at / long) * width} y1={0} y2={height} />}
            </svg>
          )}
          {/* A conversation has no captions; what was said of it is in its disposition. */}
          {/* eslint-disable-next-line jsx-a11y/media-has-caption */}
          <audio ref={player} controls preload="metadata" src={address} className={css.player} aria-label="Recording" onTimeUpdate={() => setAt(player.current?.currentTime ?? 0)} />
        </>
      )}
    </div>
  );
}

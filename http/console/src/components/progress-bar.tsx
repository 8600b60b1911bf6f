import type { Campaign } from '../api/client';
import { parts } from '../words/campaigns';
import { progressOf } from '../words/commands';
import { contactStatus } from '../words/states';
import css from './progress-bar.module.css';

/** ProgressBar shows the processed contacts, split by their final outcome. */
export function ProgressBar({ campaign, height = 8 }: { campaign: Campaign; height?: number }) {
  const value = Math.round((campaign.counters.progress ?? 0) * 100);
  return (
    <div
      className={css.track}
      style={{ height }}
      role="progressbar"
      aria-label={`Progress of ${campaign.settings.name}`}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={value}
      aria-valuetext={progressOf(campaign)}
    >
      {parts(campaign).map((p) => (
        <div
          key={p.state}
          className={css.part}
          data-tone={contactStatus[p.state].tone}
          style={{ width: `${p.share * 100}%` }}
          title={`${contactStatus[p.state].label}: ${p.contacts}`}
        />
      ))}
    </div>
  );
}

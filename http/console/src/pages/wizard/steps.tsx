import css from './steps.module.css';

export interface Step {
  id: string;
  label: string;
}

/** Steps shows where one is in the wizard; a step that can be reached is a button. */
export function Steps({
  steps,
  current,
  reach,
  go,
}: {
  steps: readonly Step[];
  current: string;
  reach: (id: string) => boolean;
  go: (id: string) => void;
}) {
  const at = steps.findIndex((s) => s.id === current);
  return (
    <nav aria-label="Steps">
      <ol className={css.steps}>
        {steps.map((s, i) => (
          <li key={s.id} data-done={i < at || undefined}>
            <button
              type="button"
              className={css.step}
              disabled={s.id !== current && !reach(s.id)}
              aria-current={s.id === current ? 'step' : undefined}
              onClick={() => go(s.id)}
            >
              <span className={css.number} aria-hidden>
                {i + 1}
              </span>
              <span>{s.label}</span>
            </button>
          </li>
        ))}
      </ol>
    </nav>
  );
}

import type { Problem } from './problem';

/** Mistakes sorts what the API says of a form: beside the fields that the form shows, and the rest. */
export interface Mistakes {
  /** What is wrong with a field, or with a member of it. */
  of: (...fields: string[]) => string | undefined;
  /** The problem, when something of it stands beside no field. */
  rest: Problem | null;
}

export function mistakes(problem: Problem | null, ...shown: string[]): Mistakes {
  const belongs = (at: string, field: string) =>
    at === field || at.startsWith(`${field}[`) || at.startsWith(`${field}.`);
  const of = (...fields: string[]) => {
    const e = problem?.errors.find((m) => fields.some((f) => belongs(m.field, f)));
    return e && e.message.charAt(0).toUpperCase() + e.message.slice(1);
  };
  const beside =
    problem !== null &&
    problem.errors.length > 0 &&
    problem.errors.every((e) => shown.some((f) => belongs(e.field, f)));
  return { of, rest: beside ? null : problem };
}

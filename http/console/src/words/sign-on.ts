/** Why a log-in by an identity provider was refused, by the code in the address of the page. */
const refusals = new Map<string, string>(
  Object.entries({
    oidc_deactivated: 'Your account is deactivated. Ask an administrator to activate it.',
    oidc_email_taken: 'Another account has your e-mail address. Log in with its password, or ask an administrator.',
    oidc_email_unconfirmed: 'The sign-on service has not confirmed your e-mail address. Confirm it there.',
    oidc_expired: 'The log-in took too long, or began in another browser. Log in again.',
    oidc_no_email: 'The sign-on service told no e-mail address. Ask who runs it.',
    oidc_no_role: 'None of your groups may use the dialler. Ask for one, then log in again.',
    oidc_refused: 'The sign-on service refused the log-in.',
    oidc_unavailable: 'The sign-on service does not answer. Try again later, or log in with a password.',
    last_admin: 'Your groups would take the last administrator away. Make somebody else an administrator first.',
  }),
);

/** signOnRefusal gives the sentence for the address that a refused log-in has led to; null for any other. */
export function signOnRefusal(search: string): string | null {
  const code = new URLSearchParams(search).get('log_in');
  if (code === null) return null;
  return refusals.get(code) ?? 'The log-in did not succeed. Try again; an administrator sees why in the log.';
}

/** signOnPath is where the button leads, with the page that is to be shown afterwards. */
export function signOnPath(url: string, at: { pathname: string; search: string }): string {
  const query = new URLSearchParams(at.search);
  query.delete('log_in');
  const rest = query.toString();
  return `${url}?to=${encodeURIComponent(at.pathname + (rest === '' ? '' : `?${rest}`))}`;
}

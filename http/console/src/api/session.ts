import { createContext, use } from 'react';

import type { Role, Session } from './client';

/** SessionContext holds who is logged in, for everything behind the gate. */
export const SessionContext = createContext<Session | null>(null);

export function useUser(): Session['user'] {
  const session = use(SessionContext);
  if (session === null) throw new Error('used outside the gate');
  return session.user;
}

const rank: Record<Role, number> = { viewer: 0, operator: 1, admin: 2 };

/** may says whether a role includes another: an admin may do all that an operator may. */
export function may(role: Role, needed: Role): boolean {
  return rank[role] >= rank[needed];
}

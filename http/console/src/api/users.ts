import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';

import { useChange } from './change';
import type { Schemas } from './client';
import { api, data } from './client';
import type { Problem } from './problem';
import { forget, keys } from './queries';
import type { paths } from './schema';

export type User = Schemas['User'];
export type UserDraft = NonNullable<paths['/api/v1/users']['post']['requestBody']>['content']['application/json'];
export type UserChange = NonNullable<
  paths['/api/v1/users/{user_id}']['patch']['requestBody']
>['content']['application/json'];

const users = ['users'] as const;

export function useUsers() {
  return useQuery<User[], Problem>({
    queryKey: users,
    queryFn: async ({ signal }) => (await data(api.GET('/api/v1/users', { signal }))).users,
  });
}

export function useCreateUser() {
  return useChange((body: UserDraft) => api.POST('/api/v1/users', { body }), users);
}

export function useChangeUser() {
  return useChange(
    ({ id, change }: { id: string; change: UserChange }) =>
      api.PATCH('/api/v1/users/{user_id}', { params: { path: { user_id: id } }, body: change }),
    users,
    keys.session,
  ); // it may be oneself
}

/** useChangePassword changes one's own; it ends every session, this one included. */
export function useChangePassword() {
  const client = useQueryClient();
  return useMutation<unknown, Problem, { current_password: string; new_password: string }>({
    mutationFn: (body) => data(api.PUT('/api/v1/password', { body })),
    onSuccess: () => forget(client),
  });
}

/** Entries of the navigation and of the palette. */
import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { hub, usePerson } from '../data/hub.js';
import { ROUTES } from '../routes.js';
import { holdsRole } from '../session/session.js';

interface EntryOfScreen {
  readonly path: string;
  readonly entry: NonNullable<(typeof ROUTES)[number]['entry']>;
}

/** Screens that the user may open, and for which the hub has something. */
export function useEntries(): readonly EntryOfScreen[] {
  const person = usePerson();
  const hasRecipes = useHasRecipes();
  return ROUTES.flatMap(({ path, entry }) =>
    entry && holdsRole(person, entry.role ?? 'VIEWER') && (hasRecipes || !entry.isForRecipes)
      ? [{ path, entry }]
      : [],
  );
}

/** Whether the configuration of the hub has recipes of hosts; false until the hub has told it. */
function useHasRecipes(): boolean {
  const { data } = useQuery({
    queryKey: ['shell', 'recipes'],
    // It changes with a restart of the hub only.
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const query = { size: 1 };
      const page = await api.listHostRecipes({ client: hub.client, query, signal, throwOnError: true });
      return page.data.totalElements > 0;
    },
  });
  return data ?? false;
}

/** Recipes of hosts, and what administrators ask of them. */
import { type UseQueryResult, useMutation, useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { useState } from 'react';
import { allPages } from '../../data/all-pages.js';
import { hub } from '../../data/hub.js';
import { askAgain } from '../../data/query-client.js';
import type { Question } from '../../design/question.js';
import { useWords } from '../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const EVERY_MS = 2000;
const HOURS_EVERY_MS = 60_000;
const RECIPES_KEY = ['hosts'];

/** All recipes with their allocations; asked for again and again, since the stream tells of tasks only. */
export function useRecipes(): UseQueryResult<readonly api.HostRecipe[]> {
  return useQuery({
    queryKey: RECIPES_KEY,
    refetchInterval: EVERY_MS,
    queryFn: ({ signal }) =>
      allPages((query) => api.listHostRecipes({ client: hub.client, query, signal, throwOnError: true })),
  });
}

/** Host-hours by month, which change slowly. */
export function useHostHours(): UseQueryResult<api.HostHours['content']> {
  return useQuery({
    queryKey: [...RECIPES_KEY, 'hours'],
    refetchInterval: HOURS_EVERY_MS,
    queryFn: async ({ signal }) => {
      const { data } = await api.listHostHours({ client: hub.client, signal, throwOnError: true });
      return data.content;
    },
  });
}

export interface RecipeActions {
  /** Action to be confirmed; undefined while there is none. */
  readonly question: Question | undefined;
  readonly closeQuestion: () => void;
  /** The last action that the hub has accepted, in words. */
  readonly said: string | undefined;
  /** Why it refused the last action. */
  readonly fault: Error | undefined;
  pause(recipe: string): void;
  resume(recipe: string): void;
  drain(recipe: string): void;
}

export function useRecipeActions(): RecipeActions {
  const words = useWords<typeof en>({ en, de });
  const [question, setQuestion] = useState<Question>();
  const { mutateAsync, data, error } = useMutation({
    mutationFn: async ({ act, accepted }: { act: () => Promise<unknown>; accepted: string }) => {
      await act();
      await askAgain({ queryKey: RECIPES_KEY });
      return accepted;
    },
  });
  const request = (name: string) => ({ client: hub.client, path: { name }, throwOnError: true }) as const;
  // The mutation keeps why it failed.
  const orSay = (running: Promise<unknown>) => void running.catch(() => undefined);
  return {
    question,
    closeQuestion: () => setQuestion(undefined),
    said: data,
    fault: question === undefined ? (error ?? undefined) : undefined,
    pause: (name) =>
      orSay(
        mutateAsync({ act: () => api.pauseHostRecipe(request(name)), accepted: words.pauseAccepted(name) }),
      ),
    resume: (name) =>
      orSay(
        mutateAsync({ act: () => api.resumeHostRecipe(request(name)), accepted: words.resumeAccepted(name) }),
      ),
    drain: (name) =>
      setQuestion({
        icon: 'circle-slash',
        label: words.drain,
        title: words.drainTitle(name),
        more: words.drainMore,
        act: () =>
          mutateAsync({ act: () => api.drainHostRecipe(request(name)), accepted: words.drainAccepted(name) }),
      }),
  };
}

/** Versions and labels that instances offer, and whether a job would run. */
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { hub } from '../../data/hub.js';
import { classifiersOf, type Draft } from './draft.js';

const OFFERS_EVERY_MS = 5000;
const ANSWER_EVERY_MS = 1000;

export interface Offers {
  /** Versions of instances with the wanted labels, newest first. */
  readonly versions: readonly string[];
  /** Labels with the number of instances that have them. */
  readonly labels: ReadonlyMap<string, number>;
}

export function useOffers(wanted: readonly string[]): Offers | undefined {
  const { data } = useQuery({
    queryKey: ['new-job', 'instances'],
    queryFn: ({ signal }) => hub.instances(signal),
    refetchInterval: OFFERS_EVERY_MS,
  });
  if (data === undefined) return undefined;
  const labels = new Map<string, number>();
  for (const instance of data)
    for (const label of instance.labels) labels.set(label, (labels.get(label) ?? 0) + 1);
  const fitting = data.filter((instance) => wanted.every((label) => instance.labels.includes(label)));
  const versions = [...new Set(fitting.map(({ version }) => version))];
  const compare = new Intl.Collator('en', { numeric: true }).compare;
  return {
    versions: versions.sort((a, b) => compare(b, a)),
    labels: new Map([...labels].sort(([a], [b]) => compare(a, b))),
  };
}

type Place = Pick<Draft, 'version' | 'labels' | 'priority'>;

/** Whether and when a job with these classifiers would run, as things are. */
export function useAnswer(place: Place): UseQueryResult<api.DryRunExplanation> {
  const classifiers = classifiersOf(place);
  return useQuery({
    queryKey: ['new-job', 'explain', classifiers],
    queryFn: async ({ signal }) =>
      (await api.explainRequest({ client: hub.client, body: { classifiers }, signal, throwOnError: true }))
        .data,
    refetchInterval: ANSWER_EVERY_MS,
    placeholderData: (before) => before,
  });
}

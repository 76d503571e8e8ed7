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

/** Whether and when the job would run, as things are. */
export function useAnswer(draft: Draft): UseQueryResult<api.DryRunExplanation> {
  const body = { classifiers: classifiersOf(draft), ...modelOf(draft) };
  return useQuery({
    queryKey: ['new-job', 'explain', body],
    queryFn: async ({ signal }) =>
      (await api.explainRequest({ client: hub.client, body, signal, throwOnError: true })).data,
    refetchInterval: ANSWER_EVERY_MS,
    placeholderData: (before) => before,
  });
}

/** The model of a draft, as far as it matters for where the job may run. */
function modelOf({
  files,
  hostPath,
  simulatedS,
}: Draft): Pick<api.DryRunRequest, 'inputModel' | 'inputModelReference'> {
  if (simulatedS !== undefined) return {};
  const model = files.find(({ role }) => role === 'MODEL');
  const type = model?.modelType ?? /\.([a-z0-9]{1,16})$/i.exec(model?.path ?? '')?.[1];
  if (type !== undefined) return { inputModel: { type } };
  const path = hostPath.trim();
  if (path === '') return {};
  return {
    inputModelReference: { type: 'LOCAL_FILESYSTEM', parameters: [{ key: 'pathToFile', value: path }] },
  };
}

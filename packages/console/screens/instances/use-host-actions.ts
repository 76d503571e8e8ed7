/** Actions of an administrator on instances and agents, after a question where others notice them. */
import { useMutation } from '@tanstack/react-query';
import { type AgentState, api, type TaskItem, type WorkbenchInstance } from '@workbench-hub/client';
import { useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { hub } from '../../data/hub.js';
import { askAgain } from '../../data/query-client.js';
import type { Question } from '../../design/question.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { useTaskName } from '../../words/task-name.js';
import { INSTANCES_KEY } from './use-instances.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

export type InstanceCommand = 'start' | 'stop' | 'restart';

const SEND = { start: api.startInstance, stop: api.stopInstance, restart: api.restartInstance };
const ICONS = { start: 'play', stop: 'ban', restart: 'rotate-ccw' } as const;

export interface HostActions {
  /** Action to be confirmed; undefined while there is none. */
  readonly question: Question | undefined;
  readonly closeQuestion: () => void;
  /** The last command that the hub has accepted, in words. */
  readonly said: string | undefined;
  /** Why it refused the last command. */
  readonly fault: Error | undefined;
  command(command: InstanceCommand, instance: WorkbenchInstance, task: TaskItem | undefined): void;
  drain(agent: AgentState): void;
  undrain(agent: AgentState): void;
}

export function useHostActions(): HostActions {
  const words = useWords<typeof en>({ en, de });
  const nameOf = useTaskName();
  const [{ language }] = usePreferences();
  const [question, setQuestion] = useState<Question>();
  const { mutateAsync, data, error } = useMutation({
    mutationFn: async ({ act, accepted }: { act: () => Promise<unknown>; accepted: string | undefined }) => {
      await act();
      await askAgain({ queryKey: INSTANCES_KEY });
      return accepted;
    },
  });
  const run = (act: () => Promise<unknown>, accepted?: string) => mutateAsync({ act, accepted });
  const orSay = (running: Promise<unknown>) => void running.catch(() => undefined);
  return {
    question,
    closeQuestion: () => setQuestion(undefined),
    said: data,
    fault: question === undefined ? (error ?? undefined) : undefined,
    command(command, instance, task) {
      const { id } = instance;
      const act = () =>
        run(
          () => SEND[command]({ client: hub.client, path: { id }, throwOnError: true }),
          words.accepted(id),
        );
      if (command === 'start' || (command === 'restart' && !instance.working)) return orSay(act());
      const after = command === 'stop' ? words.stopMore : words.restartMore;
      const endsTask = instance.working
        ? `${words.endsTask(task === undefined ? words.itsTask : nameOf(task))} `
        : '';
      setQuestion({
        icon: ICONS[command],
        label: words[command],
        title: command === 'stop' ? words.stopTitle(id) : words.restartTitle(id),
        more: endsTask + after,
        act,
      });
    },
    drain({ id, runningTasks }) {
      const runs = runningTasks > 0 ? `${words.drainRuns(numberText(runningTasks, language))} ` : '';
      setQuestion({
        icon: 'circle-slash',
        label: words.drain,
        title: words.drainTitle(id),
        more: runs + words.drainMore,
        act: () =>
          run(
            () => api.drainAgent({ client: hub.client, path: { id }, throwOnError: true }),
            words.drainAccepted(id),
          ),
      });
    },
    undrain({ id }) {
      orSay(
        run(
          () => api.undrainAgent({ client: hub.client, path: { id }, throwOnError: true }),
          words.undrainAccepted(id),
        ),
      );
    },
  };
}

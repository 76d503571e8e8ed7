import { Tabs } from '@base-ui/react/tabs';
import { api, NotFoundError, type TaskDetails } from '@workbench-hub/client';
import { lazy, Suspense } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useSaving } from '../../base/use-saving.js';
import { useSteadyError } from '../../base/use-steady-error.js';
import { useTitle } from '../../base/use-title.js';
import { hub } from '../../data/hub.js';
import { HubWords } from '../../design/hub-words.js';
import { SaveFault } from '../../design/save-fault.js';
import { Empty, Failure, Loading } from '../../design/states.js';
import { StatusBadge } from '../../design/status.js';
import { TaskReason } from '../../design/task-reason.js';
import { Icon } from '../../icons/icon.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { useTaskName } from '../../words/task-name.js';
import { Facts } from './facts.js';
import { LogView } from './log-view.js';
import type { Tab } from './place.js';
import { TaskActions } from './task-actions.js';
import { Timeline } from './timeline.js';
import { usePlace } from './use-place.js';
import { isEnded, useTask } from './use-task.js';
import { WhyItWaits } from './why-it-waits.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const Inputs = lazy(async () => ({ default: (await import('./inputs.js')).Inputs }));
const Outputs = lazy(async () => ({ default: (await import('./outputs.js')).Outputs }));

/** One task: its life, its log, what was handed in and what came out. */
export function TaskScreen({ params }: { readonly params: Readonly<Record<string, string | undefined>> }) {
  const id = params['id'] ?? '';
  return <TaskOf key={id} id={id} />;
}

function TaskOf({ id }: { readonly id: string }) {
  const query = useTask(id);
  const { data: task, refetch } = query;
  const error = useSteadyError(query);
  if (task !== undefined && !(error instanceof NotFoundError)) return <TaskView task={task} />;
  if (error instanceof NotFoundError) return <Gone />;
  if (error !== null) return <Failure error={error} onAgain={() => void refetch()} isScreen />;
  return <Loading lines={12} />;
}

function Gone() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.gone);
  return (
    <Empty icon="search" title={words.gone} isScreen>
      <p>{words.goneMore}</p>
      <Link href="/tasks" className="button">
        {words.back}
      </Link>
    </Empty>
  );
}

function TaskView({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  const nameOf = useTaskName();
  const { id, status, message } = task;
  const name = nameOf(task);
  useTitle(`${name}: ${common.status[status]}`);
  const saving = useSaving();
  return (
    <article className="view" aria-labelledby="task-title">
      <header className="view-head">
        <Link href="/tasks" className="button plain only-icon" aria-label={words.back}>
          <Icon name="chevron-left" size={20} />
        </Link>
        <h1 id="task-title">{name}</h1>
        <StatusBadge status={status} />
        <TaskActions task={task} />
      </header>
      {status === 'FAILED' && message !== undefined && (
        <p className="notice of-failed">
          <Icon name="circle-x" />
          <HubWords>{message}</HubWords>
        </p>
      )}
      {status === 'CANCELED' && message !== undefined && (
        <p className="notice of-canceled">
          <Icon name="circle-slash" />
          <span>
            <TaskReason task={task} />
          </span>
        </p>
      )}
      <div className="view-columns">
        <div className="view-main">
          {status === 'WAITING' && <WhyItWaits id={id} />}
          <SaveFault saving={saving} />
          <TaskTabs
            task={task}
            onSaveLog={() => void saving.save(`${task.name ?? id}.log`, () => logFileOf(id))}
          />
        </div>
        <div className="view-side">
          <Timeline task={task} />
          <Facts task={task} />
        </div>
      </div>
    </article>
  );
}

async function logFileOf(id: string): Promise<Response> {
  const { data } = await api.getTaskLog({
    client: hub.client,
    path: { id },
    parseAs: 'stream',
    throwOnError: true,
  });
  return new Response(data as unknown as ReadableStream | null);
}

interface TaskTabsProps {
  readonly task: TaskDetails;
  readonly onSaveLog: () => void;
}

function TaskTabs({ task, onSaveLog }: TaskTabsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [{ tab }, change] = usePlace();
  const count = (files: readonly unknown[]) => numberText(files.length, language);
  return (
    <Tabs.Root value={tab} onValueChange={(value) => change({ tab: value as Tab })} className="tabs">
      <Tabs.List className="tab-list">
        <Tabs.Tab value="log" className="tab">
          {words.log}
        </Tabs.Tab>
        <Tabs.Tab value="inputs" className="tab">
          {words.inputs} <span className="count">{count(task.inputs)}</span>
        </Tabs.Tab>
        <Tabs.Tab value="outputs" className="tab">
          {words.outputs} <span className="count">{count(task.outputs ?? [])}</span>
        </Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="log" className="tab-panel" keepMounted>
        <LogView
          id={task.id}
          hasEnded={isEnded(task)}
          isEndFirst={!isEnded(task) || task.status === 'FAILED'}
          isWaiting={task.status === 'WAITING'}
          hasRun={task.startedAt !== undefined || (task.attempts ?? []).length > 0}
          onDownload={onSaveLog}
        />
      </Tabs.Panel>
      <Tabs.Panel value="inputs" className="tab-panel">
        <Suspense fallback={<Loading lines={4} />}>
          <Inputs task={task} />
        </Suspense>
      </Tabs.Panel>
      <Tabs.Panel value="outputs" className="tab-panel">
        <Suspense fallback={<Loading lines={4} />}>
          <Outputs task={task} />
        </Suspense>
      </Tabs.Panel>
    </Tabs.Root>
  );
}

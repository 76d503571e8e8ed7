import { useQuery } from '@tanstack/react-query';
import { api, NotFoundError, type TaskItem, type WorkbenchInstance } from '@workbench-hub/client';
import { useState } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useSaving } from '../../base/use-saving.js';
import { useSteadyError } from '../../base/use-steady-error.js';
import { useTitle } from '../../base/use-title.js';
import { hub, useRole } from '../../data/hub.js';
import { useHubTime } from '../../data/hub-offset.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import { Fact } from '../../design/fact.js';
import { Refusal } from '../../design/refusal.js';
import { SaveFault } from '../../design/save-fault.js';
import { Empty, Failure, Loading, NoData } from '../../design/states.js';
import { TaskLinks } from '../../design/task-links.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { kindText } from '../../words/job-kind.js';
import { useTaskName } from '../../words/task-name.js';
import { LogPane } from '../task/log-view.js';
import { useFollowedLog } from '../task/use-followed-log.js';
import { CrashesCard } from './crashes-card.js';
import { InstanceCommands } from './instance-commands.js';
import { stateOf } from './instance-list.js';
import { StateBadge } from './state-badge.js';
import { useHostActions } from './use-host-actions.js';
import { INSTANCES_KEY, useAgentOf, useRunning } from './use-instances.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const EVERY_MS = 1000;
const LATEST_TASKS = 12;
const PARTS = ['console', 'stdout', 'stderr'] as const;

/** One instance: its log, its particulars, and the tasks that it has run. */
export function InstanceScreen({
  params,
}: {
  readonly params: Readonly<Record<string, string | undefined>>;
}) {
  const id = params['id'] ?? '';
  return <InstanceOf key={id} id={id} />;
}

function InstanceOf({ id }: { readonly id: string }) {
  const words = useWords<typeof en>({ en, de });
  useTitle(id);
  const query = useQuery({
    queryKey: [...INSTANCES_KEY, 'one', id],
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await api.getInstance({ client: hub.client, path: { id }, signal, throwOnError: true })).data,
  });
  const { data, refetch } = query;
  const error = useSteadyError(query);
  if (error instanceof NotFoundError) {
    return (
      <Empty icon="server" title={words.gone} isScreen>
        <p>{words.goneMore}</p>
        <Link href="/instances" className="button">
          {words.back}
        </Link>
      </Empty>
    );
  }
  if (data !== undefined) return <InstanceView instance={data} />;
  if (error !== null) return <Failure error={error} onAgain={() => void refetch()} isScreen />;
  return <Loading lines={12} />;
}

function InstanceView({ instance }: { readonly instance: WorkbenchInstance }) {
  const words = useWords<typeof en>({ en, de });
  const isAdmin = useRole('ADMIN');
  const actions = useHostActions();
  const task = useRunning().get(instance.id);
  const agent = useAgentOf(instance);
  return (
    <article className="view" aria-labelledby="instance-title">
      <header className="view-head">
        <Link href="/instances" className="button plain only-icon" aria-label={words.back}>
          <Icon name="chevron-left" size={20} />
        </Link>
        <h1 id="instance-title">{instance.id}</h1>
        <StateBadge state={stateOf(instance, agent)} />
        {isAdmin && (
          <div className="view-actions">
            <InstanceCommands instance={instance} task={task} actions={actions} hasWords />
          </div>
        )}
      </header>
      <p role="status" className={actions.said === undefined ? 'visually-hidden' : 'faint'}>
        {actions.said}
      </p>
      {actions.fault && <Refusal words={words.refused} error={actions.fault} />}
      {instance.status === 'FAILED' && (
        <p className="notice of-failed">
          <Icon name="circle-x" />
          <span>{words.crashLoop}</span>
        </p>
      )}
      {stateOf(instance, agent) === 'KEPT' && (
        <p className="notice of-waiting">
          <Icon name="lock" />
          <span>{words.keptInstance}</span>
        </p>
      )}
      {agent?.drained && (
        <p className="notice of-waiting">
          <Icon name="circle-slash" />
          <span>{words.drainedAgent(agent.id)}</span>
        </p>
      )}
      <div className="view-columns">
        <div className="view-main">
          <InstanceLog id={instance.id} />
        </div>
        <div className="view-side">
          <About instance={instance} task={instance.working ? task : undefined} />
          <CrashesCard id={instance.id} />
          <LatestTasks id={instance.id} />
        </div>
      </div>
      <ConfirmDialog question={actions.question} onClose={actions.closeQuestion} />
    </article>
  );
}

function InstanceLog({ id }: { readonly id: string }) {
  const words = useWords<typeof en>({ en, de });
  const [part, setPart] = useState<(typeof PARTS)[number]>('console');
  const { log, error } = useFollowedLog(`${id} ${part}`, async (query, signal) => {
    const { response } = await api.getInstanceLog({
      client: hub.client,
      path: { id, type: part },
      query,
      parseAs: 'stream',
      signal,
      throwOnError: true,
    });
    return response;
  });
  const saving = useSaving();
  const save = () =>
    saving.save(`${id}-${part}.log`, async () => new Response(await hub.instanceLog(id, part)));
  return (
    <>
      {error && <Refusal words={words.logAway} error={error} />}
      <SaveFault saving={saving} />
      <LogPane log={log} none={words.noLog} isFollowedAtFirst onDownload={() => void save()}>
        <select
          className="input log-part"
          aria-label={words.logPart}
          value={part}
          onChange={(event) => setPart(event.target.value as typeof part)}
        >
          {PARTS.map((each) => (
            <option key={each} value={each}>
              {words.logParts[each]}
            </option>
          ))}
        </select>
      </LogPane>
    </>
  );
}

interface AboutProps {
  readonly instance: WorkbenchInstance;
  readonly task: TaskItem | undefined;
}

function About({ instance, task }: AboutProps) {
  const { id, version, revision, labels, runs, agentId, startedDatetime } = instance;
  const [{ language }] = usePreferences();
  const words = useWords<typeof en>({ en, de });
  const nameOf = useTaskName();
  const since = useHubTime()(startedDatetime);
  return (
    <section className="card facts" aria-labelledby="about-title">
      <h2 id="about-title">{words.about}</h2>
      <dl>
        <Fact label={words.worksOn}>
          {task ? (
            <Link href={`/tasks/${task.id}`}>{nameOf(task)}</Link>
          ) : (
            <span className="faint">{words.nothing}</span>
          )}
        </Fact>
        <Fact label={words.version}>{version}</Fact>
        {revision !== '' && <Fact label={words.revision}>{revision}</Fact>}
        <Fact label={words.labels}>
          {labels.length === 0 && <span className="faint">{words.noLabels}</span>}
          <span className="tags">
            {labels.map((label) => (
              <span key={label} className="tag">
                {label}
              </span>
            ))}
          </span>
        </Fact>
        {runs !== undefined && <Fact label={words.runs}>{kindText(runs, language)}</Fact>}
        <Fact label={words.agent}>
          {typeof agentId === 'string' ? (
            <Link href={`/instances?find=${encodeURIComponent(agentId)}`}>{agentId}</Link>
          ) : (
            words.hubItself
          )}
        </Fact>
        {since !== undefined && (
          <Fact label={words.upSince}>
            <Time at={since} />
          </Fact>
        )}
        <Fact label={words.id}>
          <code>{id}</code>
        </Fact>
      </dl>
    </section>
  );
}

function LatestTasks({ id }: { readonly id: string }) {
  const words = useWords<typeof en>({ en, de });
  const query = useQuery({
    queryKey: [...INSTANCES_KEY, 'tasks', id],
    queryFn: ({ signal }) => hub.window({ instance: [id] }, { limit: LATEST_TASKS }, signal),
  });
  const { data } = query;
  return (
    <section className="card facts" aria-labelledby="latest-title">
      <h2 id="latest-title">{words.lastTasks}</h2>
      <NoData query={query} lines={3} />
      {data?.tasks.length === 0 && <p className="faint">{words.noTasks}</p>}
      {data && data.tasks.length > 0 && (
        <>
          <TaskLinks tasks={data.tasks} />
          <Link href={`/tasks?instance=${encodeURIComponent(id)}&study=all`}>{words.allTasks}</Link>
        </>
      )}
    </section>
  );
}

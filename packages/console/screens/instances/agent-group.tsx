import type { AgentState, TaskItem, WorkbenchInstance } from '@workbench-hub/client';
import { memo } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useRole } from '../../data/hub.js';
import { useHubTime } from '../../data/hub-offset.js';
import { Duration, Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { installationText, systemText } from '../../words/installation.js';
import { useTaskName } from '../../words/task-name.js';
import { InstanceCommands } from './instance-commands.js';
import { type Group, type InstanceState, stateOf } from './instance-list.js';
import { StateBadge } from './state-badge.js';
import type { HostActions } from './use-host-actions.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface AgentGroupProps {
  readonly group: Group;
  readonly running: ReadonlyMap<string, TaskItem>;
  readonly actions: HostActions;
}

/** An agent, or the hub's own machine, with its instances. */
export function AgentGroup({ group: { id, agent, instances }, running, actions }: AgentGroupProps) {
  const words = useWords<typeof en>({ en, de });
  const name = id ?? words.hubItself;
  return (
    <section className="card agent-group" aria-label={name}>
      <header className="agent-head">
        <Icon name="server" />
        <h2>{name}</h2>
        {agent && <AgentFacts agent={agent} actions={actions} />}
      </header>
      {instances.length === 0 ? (
        <p className="faint agent-empty">{words.noInstances}</p>
      ) : (
        <table className="instance-table">
          <colgroup>
            {Object.keys(words.columns).map((column) => (
              <col key={column} className={`of-${column}`} />
            ))}
          </colgroup>
          <thead className="visually-hidden">
            <tr>
              {Object.entries(words.columns).map(([column, label]) => (
                <th key={column} scope="col">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {instances.map((instance) => (
              <Row
                key={instance.id}
                instance={instance}
                state={stateOf(instance, agent)}
                task={instance.working ? running.get(instance.id) : undefined}
                actions={actions}
              />
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

interface HubFactsProps {
  readonly version: string;
  readonly joined: NonNullable<AgentState['hub']>;
}

/** The hub that the agent is, with a link to it. */
function HubFacts({ version, joined }: HubFactsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { baseUrl, below } = joined;
  return (
    <>
      {baseUrl === undefined ? (
        <span>{words.hubVersion(version)}</span>
      ) : (
        <a href={baseUrl} rel="noreferrer">
          {words.hubAt(version, new URL(baseUrl).host)}
        </a>
      )}
      {below.length > 0 && <span>{words.below(numberText(below.length, language))}</span>}
    </>
  );
}

/** Time at which an agent was last seen; nothing while it is connected. `local` is in the time of the hub. */
function LastSeen({ local }: { readonly local: string | undefined }) {
  const words = useWords<typeof en>({ en, de });
  const at = useHubTime()(local);
  if (at === undefined) return null;
  return (
    <span>
      {words.lastSeen} <Time at={at} />
    </span>
  );
}

function AgentFacts({ agent, actions }: { readonly agent: AgentState; readonly actions: HostActions }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const isAdmin = useRole('ADMIN');
  const hubTime = useHubTime();
  const { version, status, drained, drainedBy, runningTasks } = agent;
  const since = hubTime(agent.drainedSince);
  const isUp = status === 'UP';
  return (
    <>
      <span className={`status plain ${isUp ? 'of-finished' : 'of-failed'}`}>
        <Icon name={isUp ? 'zap' : 'unplug'} size={14} />
        {isUp ? words.agentUp : version === undefined ? words.neverJoined : words.agentDown}
      </span>
      {drained && (
        <span className="status of-waiting">
          <Icon name="circle-slash" size={14} />
          {words.drained}
        </span>
      )}
      <span className="faint agent-more">
        <LastSeen local={agent.lastSeenAt} />
        {drained && since !== undefined && (
          <span>
            {drainedBy !== undefined && words.drainedBy(drainedBy)} <Time at={since} />
          </span>
        )}
        {version !== undefined && agent.hub && <HubFacts version={version} joined={agent.hub} />}
        {runningTasks > 0 && <span>{words.tasks(numberText(runningTasks, language))}</span>}
        {version !== undefined && !agent.hub && (
          <>
            <span>{words.agentVersion(version)}</span>
            <span>{systemText(agent, language)}</span>
            <span>{installationText(agent, language)}</span>
          </>
        )}
      </span>
      {isAdmin && (
        <button
          type="button"
          className="button plain"
          aria-label={`${drained ? words.undrain : words.drain}: ${agent.id}`}
          onClick={() => (drained ? actions.undrain(agent) : actions.drain(agent))}
        >
          <Icon name={drained ? 'circle-play' : 'circle-slash'} />
          {drained ? words.undrain : words.drain}
        </button>
      )}
    </>
  );
}

interface RowProps {
  readonly instance: WorkbenchInstance;
  readonly state: InstanceState;
  readonly task: TaskItem | undefined;
  readonly actions: HostActions;
}

const Row = memo(
  ({ instance, state, task, actions }: RowProps) => {
    const words = useWords<typeof en>({ en, de });
    const nameOf = useTaskName();
    const isAdmin = useRole('ADMIN');
    const hubTime = useHubTime();
    const { id, version, revision, labels } = instance;
    const since = hubTime(instance.startedDatetime);
    return (
      <tr>
        <td className="state-cell">
          <StateBadge state={state} />
        </td>
        <th scope="row" className="instance">
          <Link href={`/instances/${encodeURIComponent(id)}`}>{id}</Link>
          <span className="under">
            {version} <span>{revision}</span>
          </span>
        </th>
        <td className="labels">
          <span className="tags">
            {labels.map((label) => (
              <span key={label} className="tag">
                {label}
              </span>
            ))}
          </span>
        </td>
        <td className="work">
          {!task && instance.lent === 'IN_USE' && <span className="faint">{words.usedThere}</span>}
          {task && (
            <>
              <Link href={`/tasks/${task.id}`}>{nameOf(task)}</Link>{' '}
              {task.startedAt !== undefined && (
                <span className="faint">
                  <Duration from={task.startedAt} />
                </span>
              )}
            </>
          )}
        </td>
        <td className="since faint">{since !== undefined && <Time at={since} />}</td>
        <td className="actions">
          {isAdmin && <InstanceCommands instance={instance} task={task} actions={actions} />}
          <Link
            href={`/instances/${encodeURIComponent(id)}`}
            className="button plain only-icon"
            aria-label={`${words.log}: ${id}`}
            title={words.log}
          >
            <Icon name="terminal" />
          </Link>
        </td>
      </tr>
    );
  },
  (before, after) =>
    before.instance === after.instance && before.state === after.state && before.task === after.task,
);

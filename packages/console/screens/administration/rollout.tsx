import type { api } from '@workbench-hub/client';
import { usePreferences } from '../../base/preference-store.js';
import { useHubTime } from '../../data/hub-offset.js';
import { DataTable } from '../../design/data-table.js';
import { HubWords } from '../../design/hub-words.js';
import { Refusal } from '../../design/refusal.js';
import { ShowMore, useShownPart } from '../../design/shown-part.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { PROGRESS_ORDER, ProgressBadge } from './progress-badge.js';
import { useRollout, useRolloutChange } from './use-rollout.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Agents that are shown at first. */
const SHOWN = 10;

const STATE_COLORS: Readonly<Partial<Record<api.Rollout['state'], string>>> = {
  STOPPED: 'of-failed',
  RUNNING: 'of-running',
  DONE: 'of-finished',
};

interface RolloutProps {
  readonly rollout: api.Rollout;
}

/** The rollout of the hub's version to agents; nothing for a hub without one. */
export function Rollout() {
  const words = useWords<typeof en>({ en, de }).rollout;
  const { data } = useRollout();
  const change = useRolloutChange();
  if (data === undefined || data.state === 'OFF' || data.state === 'ON_REQUEST') return null;
  const isStopped = data.state === 'STOPPED';
  return (
    <section className="card table-card rollout" aria-label={words.title}>
      <header className="rollout-head">
        <Icon name="refresh-cw" />
        <h2>{words.titleOf(data.version ?? '')}</h2>
        <span className={`status ${STATE_COLORS[data.state] ?? 'of-waiting'}`}>
          {words.states[data.state]}
        </span>
        {data.state !== 'DONE' && (
          <button
            type="button"
            className="button plain"
            disabled={change.isPending}
            onClick={() => change.mutate(isStopped ? 'resume' : 'stop')}
          >
            <Icon name={isStopped ? 'circle-play' : 'square'} />
            {isStopped ? words.resume : words.stop}
          </button>
        )}
      </header>
      {change.error && <Refusal words={words.refused} error={change.error} />}
      <StopNotice rollout={data} />
      <Groups rollout={data} />
      <AgentTable rollout={data} />
    </section>
  );
}

/** Notice of a stop: its reason, and the effect of resuming. */
function StopNotice({ rollout: { state, stoppedBy, stoppedAt: local, agents } }: RolloutProps) {
  const words = useWords<typeof en>({ en, de }).rollout;
  const stoppedAt = useHubTime()(local);
  const failed = agents.filter(({ progress }) => progress === 'FAILED').map(({ id }) => id);
  if (state !== 'STOPPED') return null;
  return (
    <p className="notice of-failed">
      <Icon name="triangle-exclamation-point" />
      <span>
        {stoppedBy !== undefined && (
          <>
            {words.stoppedBy(stoppedBy)} {stoppedAt !== undefined && <Time at={stoppedAt} />}.{' '}
          </>
        )}
        {failed.length > 0 && `${words.failedOn(failed.join(', '))} `}
        {words.stoppedMore}
      </span>
    </p>
  );
}

function Groups({ rollout: { groups, canaries, atOnce, hours } }: RolloutProps) {
  const words = useWords<typeof en>({ en, de }).rollout;
  const [{ language }] = usePreferences();
  const number = (value: number | undefined) => numberText(value ?? 0, language);
  return (
    <div className="rollout-groups">
      <ol>
        {groups.map(({ labels, agents }, place) => {
          const all = Object.values(agents).reduce((sum, each) => sum + each, 0);
          const name = labels.join(', ');
          return (
            <li key={`${place} ${name}`}>
              {name === '' ? words.allOthers : name}{' '}
              <span className="faint">{words.doneOf(number(agents['DONE']), number(all))}</span>
            </li>
          );
        })}
      </ol>
      <p className="faint">
        {words.rules(number(canaries), number(atOnce))}
        {hours && ` ${words.hours(hours.from, hours.to)}`}
      </p>
    </div>
  );
}

function AgentTable({ rollout: { agents } }: RolloutProps) {
  const words = useWords<typeof en>({ en, de }).rollout;
  const sorted = agents.toSorted(
    (one, other) => PROGRESS_ORDER.indexOf(one.progress) - PROGRESS_ORDER.indexOf(other.progress),
  );
  const { shown, left, showMore } = useShownPart(sorted, SHOWN);
  if (agents.length === 0) return <p className="faint rollout-empty">{words.noAgents}</p>;
  const { agent, progress, version, since } = words.columns;
  return (
    <>
      <DataTable columns={[agent, progress, [version, 'detail'], [since, 'detail']]}>
        {shown.map((each) => (
          <AgentRow key={each.id} agent={each} />
        ))}
      </DataTable>
      <ShowMore left={left} showMore={showMore} />
    </>
  );
}

function AgentRow({
  agent: { id, group, progress, running, reason, log, changedAt },
}: {
  readonly agent: api.RolloutAgent;
}) {
  const words = useWords<typeof en>({ en, de }).rollout;
  const [{ language }] = usePreferences();
  const at = useHubTime()(changedAt);
  return (
    <tr>
      <th scope="row">
        {id} <span className="under">{words.group(numberText(group, language))}</span>
      </th>
      <td className="rollout-progress">
        <ProgressBadge progress={progress} />
        {reason !== undefined && (
          <span className="under">
            <HubWords>{reason}</HubWords>
          </span>
        )}
        {log !== undefined && log !== '' && (
          <details className="rollout-log">
            <summary>{words.log}</summary>
            <pre tabIndex={0}>{log}</pre>
          </details>
        )}
      </td>
      <td className="detail faint">{running}</td>
      <td className="detail faint">{at !== undefined && <Time at={at} />}</td>
    </tr>
  );
}

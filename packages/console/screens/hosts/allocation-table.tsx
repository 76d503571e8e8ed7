import type { api } from '@workbench-hub/client';
import { Link } from 'wouter';
import { useNow } from '../../base/clock.js';
import { usePreferences } from '../../base/preference-store.js';
import { useHubTime } from '../../data/hub-offset.js';
import { DataTable } from '../../design/data-table.js';
import { HubWords } from '../../design/hub-words.js';
import { ShowMore, useShownPart } from '../../design/shown-part.js';
import { Time } from '../../design/time.js';
import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { durationText } from '../../words/formats.js';
import { isOver, latestStep, type ShownState, shownState } from './allocations.js';
import { Message } from './message.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Allocations that are shown at first, beside those that are open. */
const OVER_SHOWN = 5;

interface AllocationProps {
  readonly allocation: api.HostAllocation;
}

/** Allocations of a recipe: those that are open, then the latest that are over. */
export function AllocationTable({ recipe: { name, allocations } }: { readonly recipe: api.HostRecipe }) {
  const words = useWords<typeof en>({ en, de });
  const open = allocations.filter((each) => !isOver(each));
  const { shown, left, showMore } = useShownPart(allocations.filter(isOver), OVER_SHOWN);
  if (allocations.length === 0) return <p className="faint recipe-empty">{words.noAllocations}</p>;
  const { state, allocation, why, since, left: timeLeft } = words.columns;
  return (
    <section aria-label={words.allocations(name)}>
      <DataTable
        className="allocation-table lined-table"
        columns={[
          [state, 'allocation-state'],
          [allocation, 'allocation-name'],
          [why, 'allocation-why'],
          [since, 'allocation-since'],
          [timeLeft, 'allocation-left'],
        ]}
      >
        {[...open, ...shown].map((each) => (
          <Row key={each.id} allocation={each} />
        ))}
      </DataTable>
      <ShowMore left={left} showMore={showMore} />
    </section>
  );
}

function Row({ allocation }: AllocationProps) {
  const words = useWords<typeof en>({ en, de });
  const { id, jobId, startedAt } = allocation;
  // The agent of one that has not started is not known.
  const hasAgent = !isOver(allocation) && startedAt !== undefined;
  return (
    <tr>
      <td className="allocation-state">
        <AllocationState state={shownState(allocation)} />
      </td>
      <th scope="row" className="allocation-name">
        {hasAgent ? <Link href={`/instances?find=${encodeURIComponent(id)}`}>{id}</Link> : id}
        {jobId !== undefined && <span className="under">{words.job(jobId)}</span>}
      </th>
      <td className="allocation-why">
        <Why allocation={allocation} />
      </td>
      <td className="allocation-since">
        <Since allocation={allocation} />
      </td>
      <td className="allocation-left numbers">
        <TimeLeft allocation={allocation} />
      </td>
    </tr>
  );
}

const LOOKS: Readonly<Record<ShownState, readonly [icon: IconName, colors: string]>> = {
  WANTED: ['clock', 'of-waiting'],
  SUBMITTED: ['clock', 'of-waiting'],
  QUEUED: ['clock', 'of-waiting'],
  STARTED: ['loader-circle', 'of-running'],
  JOINED: ['circle-check', 'of-finished'],
  DRAINING: ['circle-slash', 'of-waiting'],
  ENDED: ['circle-dashed', 'of-canceled'],
  LOST: ['unplug', 'of-failed'],
  FAILED: ['circle-x', 'of-failed'],
};

function AllocationState({ state }: { readonly state: ShownState }) {
  const words = useWords<typeof en>({ en, de });
  const [icon, colors] = LOOKS[state];
  return (
    <span className={`status ${colors}`}>
      <Icon name={icon} size={14} className={state === 'STARTED' ? 'turning' : ''} />
      {words.allocationStates[state]}
    </span>
  );
}

/** Why it was wanted, why it is over, and what the workload manager says. */
function Why({ allocation }: AllocationProps) {
  const words = useWords<typeof en>({ en, de });
  const { id, reason, forUser, cause, message } = allocation;
  return (
    <>
      <HubWords>{reason}</HubWords>
      {forUser !== undefined && <span className="under">{words.forUser(forUser)}</span>}
      {cause !== undefined && <span className="allocation-cause">{words.causes[cause]}</span>}
      {message !== undefined && <Message of={id}>{message}</Message>}
    </>
  );
}

function Since({ allocation }: AllocationProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const hubTime = useHubTime();
  const [step, local] = latestStep(allocation);
  const at = hubTime(local);
  const startedAt = hubTime(allocation.startedAt);
  if (at === undefined) return null;
  return (
    <>
      {words.since[step]} <Time at={at} />
      {step === 'ended' && startedAt !== undefined && (
        <span className="under">
          {words.ran(durationText(Date.parse(at) - Date.parse(startedAt), language))}
        </span>
      )}
    </>
  );
}

/** Time until the workload manager ends it; nothing for one that has not started, or is over. */
function TimeLeft({ allocation }: AllocationProps) {
  const [{ language }] = usePreferences();
  const nowMs = useNow();
  const endsAt = useHubTime()(allocation.endsAt);
  if (endsAt === undefined || isOver(allocation)) return null;
  return durationText(Math.max(0, Date.parse(endsAt) - nowMs), language);
}

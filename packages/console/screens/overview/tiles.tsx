import type { api, TaskItem } from '@workbench-hub/client';
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { StatusBadge, statusClass } from '../../design/status.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { type InstanceState, stateOf } from '../instances/instance-list.js';
import type { Range } from './periods.js';
import type { Host, Queue } from './use-overview.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface TilesProps {
  readonly queue: Queue | undefined;
  readonly hosts: readonly Host[] | undefined;
  readonly periods: readonly api.StatisticsPeriod[] | undefined;
  readonly range: Range;
}

/** The numbers that one looks at first; each leads to its tasks. */
export function Tiles({ queue, hosts, periods, range }: TilesProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const number = (value: number | undefined) => (value === undefined ? '–' : numberText(value, language));
  const states = (hosts ?? []).flatMap(({ instances, isDrained }) =>
    instances.map((instance) => stateOf(instance, { drained: isDrained })),
  );
  const inState = (wanted: InstanceState) => states.filter((state) => state === wanted).length;
  const busy = inState('WORKING');
  const up = busy + inState('FREE');
  const drained = inState('DRAINED');
  const sum = (value: (period: api.StatisticsPeriod) => number) =>
    periods?.reduce((all, period) => all + value(period), 0);
  return (
    <div className="tiles">
      <Tile status="WAITING" count={number(queue?.counts.WAITING)}>
        {queue && <Priorities queue={queue} />}
      </Tile>
      <Tile status="RUNNING" count={number(queue?.counts.RUNNING)}>
        {hosts === undefined ? '–' : up === 0 ? words.noneUp : words.instancesBusy(number(busy), number(up))}
        {drained > 0 && ` · ${words.drainedInstances(number(drained))}`}
        <span className="meter" aria-hidden="true">
          <span style={{ width: `${up === 0 ? 0 : (100 * busy) / up}%` }} />
        </span>
      </Tile>
      <Tile status="FINISHED" count={number(sum(({ finished }) => finished))}>
        {words.ofRange[range]}
      </Tile>
      <Tile status="FAILED" count={number(sum(({ failed }) => failed))}>
        {words.ofRange[range]}
      </Tile>
    </div>
  );
}

interface TileProps {
  readonly status: TaskItem['status'];
  readonly count: string;
  readonly children: ReactNode;
}

function Tile({ status, count, children }: TileProps) {
  return (
    <section className={`card tile ${statusClass(status)}`}>
      <Link href={`/tasks?status=${status}&study=all`}>
        <StatusBadge status={status} isPlain />
        <strong className="numbers">{count}</strong>
      </Link>
      <div className="quiet">{children}</div>
    </section>
  );
}

/** Waiting tasks by priority, as parts of a bar with their numbers. */
function Priorities({ queue: { waiting } }: { readonly queue: Queue }) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
  const [{ language }] = usePreferences();
  const present = waiting.filter(({ count }) => count > 0);
  if (present.length === 0) return words.nobodyWaits;
  return (
    <>
      {present
        .map(({ priority, count }) =>
          words.byPriority(common.priority[priority], numberText(count, language)),
        )
        .join(' · ')}
      <span className="meter parts" aria-hidden="true">
        {present.map(({ priority, count }) => (
          <span key={priority} className={`priority-${priority.toLowerCase()}`} style={{ flexGrow: count }} />
        ))}
      </span>
    </>
  );
}

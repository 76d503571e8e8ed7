import type { UseQueryResult } from '@tanstack/react-query';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { NoData } from '../../design/states.js';
import { TaskReason } from '../../design/task-reason.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { useTaskName } from '../../words/task-name.js';
import type { Stuck, StuckGroup } from './use-overview.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const SHOWN_TASKS = 3;
const SHOWN_REASONS = 8;

/** Tasks that have waited for long, by the reason that the hub gives. */
export function StuckCard({ stuck }: { readonly stuck: UseQueryResult<Stuck> }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const number = (value: number) => numberText(value, language);
  const { data } = stuck;
  return (
    <section className="card part" aria-labelledby="stuck-title">
      <h2 id="stuck-title">{words.stuck}</h2>
      <NoData query={stuck} lines={3} />
      {data?.total === 0 && (
        <p className="quiet well">
          <Icon name="circle-check" />
          {words.nothingStuck}
        </p>
      )}
      {data && data.seen < data.total && (
        <p className="quiet">{words.stuckCut(number(data.total), number(data.seen))}</p>
      )}
      <ul className="stuck">
        {data?.groups.slice(0, SHOWN_REASONS).map((group) => (
          <StuckReason key={group.reason} group={group} />
        ))}
      </ul>
      {data && data.groups.length > SHOWN_REASONS && (
        <p className="faint">{words.otherReasons(number(data.groups.length - SHOWN_REASONS))}</p>
      )}
    </section>
  );
}

function StuckReason({ group: { tasks } }: { readonly group: StuckGroup }) {
  const words = useWords<typeof en>({ en, de });
  const nameOf = useTaskName();
  const [{ language }] = usePreferences();
  const first = tasks.at(-1);
  const others = tasks.length - SHOWN_TASKS;
  return (
    <li>
      <p>
        <strong>{words.tasksStuck(numberText(tasks.length, language))}</strong>{' '}
        <span className="faint">
          {words.oldest} {first && <Time at={first.requestedAt} />}
        </span>
      </p>
      <p className="quiet">{first && <TaskReason task={first} />}</p>
      <p className="stuck-tasks">
        {tasks.slice(-SHOWN_TASKS).map((task) => (
          <Link key={task.id} href={`/tasks/${task.id}`}>
            {nameOf(task)}
          </Link>
        ))}
        {others > 0 && <span className="faint">{words.others(numberText(others, language))}</span>}
      </p>
    </li>
  );
}

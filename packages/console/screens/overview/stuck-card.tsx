import { Link } from 'wouter';
import { usePreferences } from '../../data/preference-store.js';
import { Loading } from '../../design/states.js';
import { TaskReason } from '../../design/task-reason.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useCommonWords } from '../../words/common.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import type { StuckGroup } from './use-overview.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const SHOWN_TASKS = 3;
const SHOWN_REASONS = 8;

/** Tasks that have waited for long, by the reason that the hub gives. */
export function StuckCard({ stuck }: { readonly stuck: readonly StuckGroup[] | undefined }) {
  const words = useWords<typeof en>({ en, de });
  return (
    <section className="card part" aria-labelledby="stuck-title">
      <h2 id="stuck-title">{words.stuck}</h2>
      {stuck === undefined && <Loading lines={3} />}
      {stuck?.length === 0 && (
        <p className="quiet well">
          <Icon name="circle-check" />
          {words.nothingStuck}
        </p>
      )}
      <ul className="stuck">
        {stuck?.slice(0, SHOWN_REASONS).map((group) => (
          <StuckReason key={group.reason} group={group} />
        ))}
      </ul>
    </section>
  );
}

function StuckReason({ group: { tasks } }: { readonly group: StuckGroup }) {
  const words = useWords<typeof en>({ en, de });
  const common = useCommonWords();
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
        {tasks.slice(-SHOWN_TASKS).map(({ id, name }) => (
          <Link key={id} href={`/tasks/${id}`}>
            {name ?? common.noName}
          </Link>
        ))}
        {others > 0 && <span className="faint">{words.others(numberText(others, language))}</span>}
      </p>
    </li>
  );
}

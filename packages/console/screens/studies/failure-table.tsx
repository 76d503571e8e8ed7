import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { DataTable } from '../../design/data-table.js';
import { HubWords } from '../../design/hub-words.js';
import { ShowMore, useShownPart } from '../../design/shown-part.js';
import { Empty } from '../../design/states.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { OutcomeBadge } from './outcome-badge.js';
import type { FailureGroup } from './points.js';
import { useStudyPlace } from './use-study-place.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Groups that are shown at first. */
const STEP = 100;

/** Reasons for which points failed, the most frequent ones first; a press shows their points. */
export function FailureTable({ groups }: { readonly groups: readonly FailureGroup[] }) {
  const words = useWords<typeof en>({ en, de });
  const part = useShownPart(groups, STEP);
  if (groups.length === 0) {
    return (
      <div className="card">
        <Empty icon="circle-check" title={words.noFailures}>
          <p>{words.noFailuresMore}</p>
        </Empty>
      </div>
    );
  }
  return (
    <div className="card table-card study-failures">
      <DataTable
        columns={[
          words.reason,
          [words.outcome, 'study-failure-outcome'],
          [words.count, 'size'],
          [words.example, 'study-failure-example'],
        ]}
      >
        {part.shown.map((group) => (
          <FailureRow key={`${group.outcome} ${group.cause} ${group.reason}`} group={group} />
        ))}
      </DataTable>
      <ShowMore {...part} />
    </div>
  );
}

function FailureRow({ group }: { readonly group: FailureGroup }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [, change] = useStudyPlace();
  const { outcome, cause, reason, count, example } = group;
  return (
    <tr>
      <th scope="row">
        <button
          type="button"
          className="button plain study-reason"
          onClick={() => change({ tab: 'points', states: [], failure: { outcome, cause, reason } })}
        >
          {reason === '' ? words.noMessage : <HubWords>{reason}</HubWords>}
        </button>
      </th>
      <td className="study-failure-outcome">
        <OutcomeBadge state={outcome} />
        {cause && <span className="under">{words.causes[cause]}</span>}
      </td>
      <td className="size numbers">{numberText(count, language)}</td>
      <td className="study-failure-example">
        <Link href={`/tasks/${example.taskId}`}>{words.point(String(example.number))}</Link>
      </td>
    </tr>
  );
}

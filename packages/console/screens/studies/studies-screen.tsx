import type { StudyItem } from '@workbench-hub/client';
import { Link } from 'wouter';
import { useTitle } from '../../base/use-title.js';
import { CopiedLines } from '../../design/copied-lines.js';
import { DataTable } from '../../design/data-table.js';
import { MoreButton } from '../../design/more-button.js';
import { Empty, NoData } from '../../design/states.js';
import { Time } from '../../design/time.js';
import { useWords } from '../../words/dictionary.js';
import { ProgressBar } from './progress-bar.js';
import { StudyState } from './study-state.js';
import { useStudies } from './use-studies.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** A command that creates a study at this hub. */
const exampleAt = (url: string) => `WB_URL=${url} wb study run --name bearing --script run.js \\
  --vary speed=500:3000:100 --vary load=1,2,5 \\
  --value 'stress=result.json#$.stress'`;

/** All studies of the hub, newest first. */
export function StudiesScreen() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.title);
  const query = useStudies();
  const studies = query.data?.pages.flatMap((page) => page.studies);
  return (
    <section className="screen" aria-labelledby="studies-title">
      <header className="screen-head">
        <h1 id="studies-title">{words.title}</h1>
        <span className="faint">{words.more}</span>
      </header>
      <div className="card table-card">
        <NoData query={query} lines={8} />
        {studies?.length === 0 && <NoStudies />}
        {studies && studies.length > 0 && (
          <DataTable
            columns={[
              words.columns.name,
              [words.columns.state, 'study-state'],
              [words.columns.progress, 'study-done'],
              [words.columns.creator, 'study-creator'],
              [words.columns.created, 'date'],
            ]}
          >
            {studies.map((study) => (
              <StudyRow key={study.id} study={study} />
            ))}
          </DataTable>
        )}
        <MoreButton label={words.showMore} query={query} />
      </div>
    </section>
  );
}

function NoStudies() {
  const words = useWords<typeof en>({ en, de });
  return (
    <>
      <Empty icon="flask-conical" title={words.none}>
        <p>{words.noneMore}</p>
      </Empty>
      <div className="study-example">
        <CopiedLines title={words.commandLine} text={exampleAt(location.origin)} />
      </div>
    </>
  );
}

function StudyRow({ study }: { readonly study: StudyItem }) {
  const { id, name, note, state, message, creator, createdAt } = study;
  return (
    <tr>
      <th scope="row">
        <Link href={`/studies/${id}`} className="item-name">
          {name}
        </Link>
        {(message ?? note) !== undefined && (
          <span className="under study-under" title={message ?? note}>
            {message ?? note}
          </span>
        )}
      </th>
      <td className="study-state">
        <StudyState state={state} />
      </td>
      <td className="study-done">
        <ProgressBar study={study} />
      </td>
      <td className="study-creator quiet">{creator}</td>
      <td className="date faint">
        <Time at={createdAt} />
      </td>
    </tr>
  );
}

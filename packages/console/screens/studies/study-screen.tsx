import { Tabs } from '@base-ui/react/tabs';
import { NotFoundError, type StudyDetails, type StudyPoint } from '@workbench-hub/client';
import { useMemo } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useSteadyError } from '../../base/use-steady-error.js';
import { useTitle } from '../../base/use-title.js';
import { HubWords } from '../../design/hub-words.js';
import { Empty, Failure, Loading, NoData } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { BestCard } from './best-card.js';
import { Compare } from './compare/compare.js';
import { CorrelationTable } from './correlation/correlation-table.js';
import { FailureTable } from './failure-table.js';
import { Parallel } from './parallel/parallel.js';
import { type StudyTab, TABS } from './place.js';
import { Plot } from './plot/plot.js';
import { PointList } from './point-list.js';
import { columnsOf, failureGroups } from './points.js';
import { StudyActions } from './study-actions.js';
import { AboutCard, ProgressCard } from './study-cards.js';
import { StudyState } from './study-state.js';
import { useStudy, useStudyPoints } from './use-study.js';
import { useStudyPlace } from './use-study-place.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Points that have not come yet, from which on the page says so. */
const MANY_MISSING = 1000;

/** One study: its progress, its points as a table and as a plot, and why points failed. */
export function StudyScreen({ params }: { readonly params: Readonly<Record<string, string | undefined>> }) {
  const id = params['id'] ?? '';
  return <StudyOf key={id} id={id} />;
}

function StudyOf({ id }: { readonly id: string }) {
  const query = useStudy(id);
  const { data: study, refetch } = query;
  const error = useSteadyError(query);
  if (error instanceof NotFoundError) return <Gone />;
  if (study !== undefined) return <StudyView study={study} />;
  if (error !== null) return <Failure error={error} onAgain={() => void refetch()} isScreen />;
  return <Loading lines={12} />;
}

function Gone() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.gone);
  return (
    <Empty icon="search" title={words.gone} isScreen>
      <p>{words.goneMore}</p>
      <Link href="/studies" className="button">
        {words.back}
      </Link>
    </Empty>
  );
}

function StudyView({ study }: { readonly study: StudyDetails }) {
  const words = useWords<typeof en>({ en, de });
  const { name, state, message } = study;
  useTitle(`${name}: ${words.states[state]}`);
  const query = useStudyPoints(study);
  return (
    <article className="view" aria-labelledby="study-title">
      <header className="view-head">
        <Link href="/studies" className="button plain only-icon" aria-label={words.back}>
          <Icon name="chevron-left" size={20} />
        </Link>
        <h1 id="study-title">{name}</h1>
        <StudyState state={state} />
        <StudyActions study={study} />
      </header>
      {message !== undefined && (
        <p className="notice of-waiting">
          <Icon name="info" />
          <HubWords>{message}</HubWords>
        </p>
      )}
      <div className="view-columns">
        <div className="view-main">
          {query.data === undefined ? (
            <div className="card">
              <NoData query={query} lines={8} />
            </div>
          ) : (
            <StudyTabs study={study} points={query.data} />
          )}
        </div>
        <div className="view-side">
          <ProgressCard study={study} />
          {query.data && <BestCard study={study} points={query.data} />}
          <AboutCard study={study} />
        </div>
      </div>
    </article>
  );
}

interface StudyTabsProps {
  readonly study: StudyDetails;
  readonly points: readonly StudyPoint[];
}

function StudyTabs({ study, points }: StudyTabsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [{ tab, chosen }, change] = useStudyPlace();
  // The study comes anew every two seconds, and is then the same but for its counts.
  const columns = useMemo(() => columnsOf(study), [study.variables, study.values]);
  const groups = useMemo(() => failureGroups(points), [points]);
  const failed = groups.reduce((sum, { count }) => sum + count, 0);
  const counts: Partial<Record<StudyTab, number>> = {
    points: points.length,
    compare: chosen.length,
    failures: failed,
  };
  const begun = study.points.total - study.points.waiting;
  return (
    <Tabs.Root
      value={tab}
      onValueChange={(value) => change({ tab: value as StudyTab })}
      className="study-tabs"
    >
      <Tabs.List className="tab-list">
        {TABS.map((each) => (
          <Tabs.Tab key={each} value={each} className="tab">
            {words[each]}{' '}
            {counts[each] !== undefined && (
              <span className="study-count">{numberText(counts[each], language)}</span>
            )}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {begun - points.length > MANY_MISSING && (
        <p className="faint study-loaded" role="status">
          {words.loaded(numberText(points.length, language), numberText(begun, language))}
        </p>
      )}
      {TABS.map((each) => (
        <Tabs.Panel key={each} value={each} className="study-panel">
          {each === 'points' && <PointList points={points} columns={columns} />}
          {each === 'compare' && <Compare points={points} columns={columns} />}
          {each === 'plot' && <Plot points={points} columns={columns} />}
          {each === 'parallel' && <Parallel points={points} columns={columns} />}
          {each === 'correlation' && <CorrelationTable points={points} columns={columns} />}
          {each === 'failures' && <FailureTable groups={groups} />}
        </Tabs.Panel>
      ))}
    </Tabs.Root>
  );
}

import { useState } from 'react';
import { useSteadyError } from '../../base/use-steady-error.js';
import { useTitle } from '../../base/use-title.js';
import { Failure } from '../../design/states.js';
import { useWords } from '../../words/dictionary.js';
import { HostsCard } from './hosts-card.js';
import { RANGES, type Range } from './periods.js';
import { StatisticsCards } from './statistics-cards.js';
import { StuckCard } from './stuck-card.js';
import { Tiles } from './tiles.js';
import { useChangesOfTasks, useHosts, useQueue, useStatistics, useStuck } from './use-overview.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** State of the hub: queue, ended tasks, hosts, and stuck tasks. */
export function OverviewScreen() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.title);
  const [range, setRange] = useState<Range>('day');
  useChangesOfTasks();
  const queue = useQueue();
  const hosts = useHosts();
  const stuck = useStuck();
  const statistics = useStatistics(range);
  const queueError = useSteadyError(queue);
  return (
    <section className="overview" aria-labelledby="overview-title">
      <header className="overview-head">
        <h1 id="overview-title">{words.title}</h1>
        <fieldset className="segments">
          <legend className="visually-hidden">{words.range}</legend>
          {(Object.keys(RANGES) as Range[]).map((each) => (
            <button key={each} type="button" aria-pressed={each === range} onClick={() => setRange(each)}>
              {words.ranges[each]}
            </button>
          ))}
        </fieldset>
      </header>
      {queueError && !queue.data && (
        <div className="card">
          <Failure error={queueError} onAgain={() => void queue.refetch()} />
        </div>
      )}
      <Tiles queue={queue.data} hosts={hosts.data} periods={statistics.data} range={range} />
      <div className="overview-grid">
        <StatisticsCards statistics={statistics} />
        <StuckCard stuck={stuck} />
        <HostsCard hosts={hosts} />
      </div>
    </section>
  );
}

import { useState } from 'react';
import { useTitle } from '../../shell/use-title.js';
import { useWords } from '../../words/dictionary.js';
import { HostsCard } from './hosts-card.js';
import { RANGES, type Range } from './periods.js';
import { StatisticsCards } from './statistics-cards.js';
import { StuckCard } from './stuck-card.js';
import { Tiles } from './tiles.js';
import { useHosts, useQueue, useStatistics, useStuck } from './use-overview.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** State of the hub: queue, ended tasks, hosts, and stuck tasks. */
export function OverviewScreen() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.title);
  const [range, setRange] = useState<Range>('day');
  const queue = useQueue();
  const hosts = useHosts();
  const stuck = useStuck();
  const buckets = useStatistics(range) ?? [];
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
      <Tiles queue={queue} hosts={hosts} buckets={buckets} range={range} />
      <div className="overview-grid">
        <StatisticsCards buckets={buckets} />
        <StuckCard stuck={stuck} />
        <HostsCard hosts={hosts} />
      </div>
    </section>
  );
}

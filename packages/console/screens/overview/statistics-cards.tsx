import { type ComponentProps, lazy, Suspense } from 'react';
import { usePreferences } from '../../data/preference-store.js';
import { Failure, Loading } from '../../design/states.js';
import { useWords } from '../../words/dictionary.js';
import { absoluteText, durationMarkText, durationText, numberText } from '../../words/formats.js';
import type { Bucket } from './periods.js';
import type { Statistics } from './use-overview.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Drawn after the numbers, which are what one looks at first. */
const LazyChart = lazy(async () => ({ default: (await import('./chart.js')).Chart }));

function Chart(props: ComponentProps<typeof LazyChart>) {
  return (
    <Suspense fallback={<div className="chart" />}>
      <LazyChart {...props} />
    </Suspense>
  );
}

/** Charts of what ended and how long it took, each with its numbers as a table. */
export function StatisticsCards({ statistics }: { readonly statistics: Statistics }) {
  const words = useWords<typeof en>({ en, de });
  const { data, error, refetch } = statistics;
  const state = error ? <Failure error={error} onAgain={() => void refetch()} /> : <Loading lines={7} />;
  return (
    <>
      <section className="card part" aria-labelledby="throughput-title">
        <h2 id="throughput-title">{words.throughput}</h2>
        {data ? <Throughput buckets={data} /> : state}
      </section>
      <section className="card part" aria-labelledby="times-title">
        <h2 id="times-title">{words.times}</h2>
        {data ? <Times buckets={data} /> : state}
      </section>
    </>
  );
}

interface BucketsProps {
  readonly buckets: readonly Bucket[];
}

function Throughput({ buckets }: BucketsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const number = (value: number) => numberText(value, language);
  return (
    <>
      <Chart
        label={words.throughput}
        timesMs={buckets.map(({ startMs }) => startMs)}
        format={number}
        series={[
          {
            label: words.finished,
            colour: '--finished-mark',
            kind: 'bars',
            // Drawn behind the failed ones, and so as high as both.
            values: buckets.map(({ finished, failed }) => finished + failed),
          },
          {
            label: words.failed,
            colour: '--failed-mark',
            kind: 'bars',
            values: buckets.map(({ failed }) => failed),
          },
        ]}
      />
      <NumbersTable
        buckets={buckets}
        columns={[
          [words.created, ({ created }) => number(created)],
          [words.finished, ({ finished }) => number(finished)],
          [words.failed, ({ failed }) => number(failed)],
          [words.canceled, ({ canceled }) => number(canceled)],
          [words.lost, ({ lost }) => number(lost)],
        ]}
      />
    </>
  );
}

function Times({ buckets }: BucketsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const time = (value: number | undefined) =>
    value === undefined ? '–' : durationText(value * 1000, language);
  return (
    <>
      <Chart
        label={words.times}
        timesMs={buckets.map(({ startMs }) => startMs)}
        format={(value) => durationMarkText(value * 1000, language)}
        isDuration
        series={[
          {
            label: words.waitTime,
            colour: '--waiting-mark',
            kind: 'line',
            values: buckets.map(({ waitS }) => waitS),
          },
          {
            label: words.runTime,
            colour: '--running-mark',
            kind: 'line',
            values: buckets.map(({ runS }) => runS),
          },
        ]}
      />
      <NumbersTable
        buckets={buckets}
        columns={[
          [words.waitTime, ({ waitS }) => time(waitS)],
          [words.runTime, ({ runS }) => time(runS)],
        ]}
      />
    </>
  );
}

interface NumbersTableProps {
  readonly buckets: readonly Bucket[];
  readonly columns: readonly (readonly [label: string, text: (bucket: Bucket) => string])[];
}

/** The numbers of a chart, newest first, without periods in which nothing happened. */
function NumbersTable({ buckets, columns }: NumbersTableProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const nowMs = buckets.at(-1)?.startMs ?? 0;
  const eventful = buckets.filter(
    ({ created, finished, failed, canceled, lost, waitS }) =>
      created + finished + failed + canceled + lost > 0 || waitS !== undefined,
  );
  return (
    <details className="numbers-table">
      <summary>{words.table}</summary>
      {eventful.length === 0 ? (
        <p className="faint">{words.noData}</p>
      ) : (
        <table className="plain-table numbers">
          <thead>
            <tr>
              <th scope="col">{words.from}</th>
              {columns.map(([label]) => (
                <th key={label} scope="col" className="size">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {eventful.toReversed().map((bucket) => (
              <tr key={bucket.startMs}>
                <th scope="row">{absoluteText(bucket.startMs, nowMs, language)}</th>
                {columns.map(([label, text]) => (
                  <td key={label} className="size">
                    {text(bucket)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </details>
  );
}

import type { api } from '@workbench-hub/client';
import { type ComponentProps, lazy, Suspense } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { Failure, Loading } from '../../design/states.js';
import { useWords } from '../../words/dictionary.js';
import { absoluteText, durationMarkText, durationText, numberText } from '../../words/formats.js';
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
      <section className="card part charted throughput" aria-labelledby="throughput-title">
        <h2 id="throughput-title">{words.throughput}</h2>
        {data ? <Throughput periods={data} /> : state}
      </section>
      <section className="card part charted" aria-labelledby="waits-title">
        <h2 id="waits-title">{words.waits}</h2>
        {data ? <Times label={words.waits} color="--waiting-mark" periods={data} of={WAITS} /> : state}
      </section>
      <section className="card part charted" aria-labelledby="runs-title">
        <h2 id="runs-title">{words.runs}</h2>
        {data ? <Times label={words.runs} color="--running-mark" periods={data} of={RUNS} /> : state}
      </section>
    </>
  );
}

interface PeriodsProps {
  readonly periods: readonly api.StatisticsPeriod[];
}

function Throughput({ periods }: PeriodsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const number = (value: number) => numberText(value, language);
  return (
    <>
      <Chart
        label={words.throughput}
        timesMs={periods.map(({ start }) => Date.parse(start))}
        format={number}
        series={[
          {
            label: words.finished,
            color: '--finished-mark',
            kind: 'bars',
            // Drawn behind the failed ones, and so as high as both.
            values: periods.map(({ finished, failed }) => finished + failed),
          },
          {
            label: words.failed,
            color: '--failed-mark',
            kind: 'bars',
            values: periods.map(({ failed }) => failed),
          },
        ]}
      />
      <NumbersTable
        periods={periods}
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

/** Times of a period in seconds; undefined where nothing was counted. */
interface Measure {
  readonly mean: (period: api.StatisticsPeriod) => number | undefined;
  readonly p95: (period: api.StatisticsPeriod) => number | undefined;
}

const WAITS: Measure = { mean: ({ meanWait }) => meanWait, p95: ({ p95Wait }) => p95Wait };
const RUNS: Measure = { mean: ({ meanRun }) => meanRun, p95: ({ p95Run }) => p95Run };

interface TimesProps extends PeriodsProps {
  readonly label: string;
  /** Name of a token. */
  readonly color: string;
  readonly of: Measure;
}

function Times({ label, color, periods, of: { mean, p95 } }: TimesProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const time = (value: number | undefined) =>
    value === undefined ? '–' : durationText(value * 1000, language);
  return (
    <>
      <Chart
        label={label}
        timesMs={periods.map(({ start }) => Date.parse(start))}
        format={(value) => durationMarkText(value * 1000, language)}
        isDuration
        series={[
          { label: words.mean, color, kind: 'line', values: periods.map(mean) },
          { label: words.p95, color, kind: 'dashes', values: periods.map(p95) },
        ]}
      />
      <NumbersTable
        periods={periods}
        columns={[
          [words.mean, (period) => time(mean(period))],
          [words.p95, (period) => time(p95(period))],
        ]}
      />
    </>
  );
}

interface NumbersTableProps {
  readonly periods: readonly api.StatisticsPeriod[];
  readonly columns: readonly (readonly [label: string, text: (period: api.StatisticsPeriod) => string])[];
}

/** The numbers of a chart, newest first, without periods in which nothing happened. */
function NumbersTable({ periods, columns }: NumbersTableProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const nowMs = Date.parse(periods.at(-1)?.start ?? '');
  const eventful = periods.filter(
    ({ created, started, finished, failed, canceled, lost }) =>
      created + started + finished + failed + canceled + lost > 0,
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
            {eventful.toReversed().map((period) => (
              <tr key={period.start}>
                <th scope="row">{absoluteText(Date.parse(period.start), nowMs, language)}</th>
                {columns.map(([label, text]) => (
                  <td key={label} className="size">
                    {text(period)}
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

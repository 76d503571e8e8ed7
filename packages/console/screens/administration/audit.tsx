import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { useLocation, useSearch } from 'wouter';
import { nowMs } from '../../base/clock.js';
import { hub, usePerson } from '../../data/hub.js';
import { ChoiceChip } from '../../design/choice.js';
import { DataTable } from '../../design/data-table.js';
import { MoreButton } from '../../design/more-button.js';
import { Empty, NoData } from '../../design/states.js';
import { Time } from '../../design/time.js';
import { useWords } from '../../words/dictionary.js';
import { PERIODS_MS } from '../tasks/filters.js';
import { actionOf } from './audit-action.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const WINDOW = 200;
/** Time after which the newest entries are asked for again. With filters, the hub may have to read far. */
const EVERY_MS = 1000;
const SELDOM_EVERY_MS = 10_000;
const MINUTE_MS = 60_000;
const PERIODS = ['', 'hour', 'day', 'week'] as const;
const OUTCOMES = ['ALLOWED', 'REFUSED', 'FAILED'] as const;
const COLUMNS = ['at', 'outcome', 'who', 'action', 'from'] as const;
const COLORS = { ALLOWED: 'of-finished', REFUSED: 'of-failed', FAILED: 'of-waiting' } as const;

interface AuditFilters {
  readonly user: string;
  readonly action: string;
  readonly outcome: (typeof OUTCOMES)[number] | '';
  readonly period: (typeof PERIODS)[number];
}

/** Who did what, newest first, by filters that are in the address. */
export function Audit() {
  const words = useWords<typeof en>({ en, de });
  const isKept = usePerson()?.isLoggedIn !== false;
  const query = new URLSearchParams(useSearch());
  const [, navigate] = useLocation();
  const filters: AuditFilters = {
    user: query.get('user') ?? '',
    action: query.get('action') ?? '',
    outcome: OUTCOMES.find((each) => each === query.get('outcome')) ?? '',
    period: PERIODS.find((each) => each === query.get('period')) ?? '',
  };
  const change = (key: string, value: string) => {
    if (value === '') query.delete(key);
    else query.set(key, value);
    navigate(`/administration/audit${query.size === 0 ? '' : `?${query}`}`, { replace: true });
  };
  const list = useEntries(filters);
  const entries = list.data?.pages.flatMap((page) => page.entries);
  return (
    <>
      <AuditFilterBar filters={filters} onChange={change} />
      <div className="card table-card">
        <NoData query={list} lines={8} />
        {entries?.length === 0 && (
          <Empty icon="list" title={words.noEntries}>
            {!isKept && <p>{words.noAuditLog}</p>}
            {isKept && query.size > 0 && <p>{words.noEntriesMore}</p>}
          </Empty>
        )}
        {entries && entries.length > 0 && <Entries entries={entries} />}
        <MoreButton label={words.more} query={list} />
      </div>
    </>
  );
}

function useEntries({ user, action, outcome, period }: AuditFilters) {
  return useInfiniteQuery({
    queryKey: ['audit', user, action, outcome, period],
    placeholderData: keepPreviousData,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }: api.AuditPage) => next,
    refetchInterval: ({ state: { data } }) =>
      (data?.pages.length ?? 0) > 1 || `${user}${action}${outcome}`.trim() !== ''
        ? SELDOM_EVERY_MS
        : EVERY_MS,
    queryFn: async ({ pageParam, signal }) => {
      const fromMs = period === '' ? undefined : nowMs() - PERIODS_MS[period];
      const query = {
        limit: WINDOW,
        ...(pageParam === undefined ? {} : { before: pageParam }),
        ...(user.trim() === '' ? {} : { user: user.trim() }),
        ...(action.trim() === '' ? {} : { action: action.trim() }),
        ...(outcome === '' ? {} : { outcome }),
        ...(fromMs === undefined
          ? {}
          : { from: new Date(Math.floor(fromMs / MINUTE_MS) * MINUTE_MS).toISOString() }),
      };
      return (await api.listAuditEntries({ client: hub.client, query, signal, throwOnError: true })).data;
    },
  });
}

interface AuditFilterBarProps {
  readonly filters: AuditFilters;
  readonly onChange: (key: string, value: string) => void;
}

function AuditFilterBar({ filters: { user, action, outcome, period }, onChange }: AuditFilterBarProps) {
  const words = useWords<typeof en>({ en, de });
  const text = (key: 'user' | 'action', value: string, hint: string) => (
    <div className={`chip ${key === 'action' ? 'wide' : ''}`}>
      <span aria-hidden="true">{words[key]}</span>
      <input
        className="input"
        aria-label={words[key]}
        placeholder={hint}
        value={value}
        onChange={(event) => onChange(key, event.target.value)}
      />
    </div>
  );
  return (
    <search className="filter-bar" aria-label={words.filters}>
      {text('user', user, words.anybody)}
      <ChoiceChip
        label={words.outcome}
        value={outcome}
        options={[['', words.anyOutcome], ...OUTCOMES.map((each) => [each, words.outcomes[each]] as const)]}
        onChange={(value) => onChange('outcome', value)}
      />
      <ChoiceChip
        label={words.period}
        value={period}
        options={PERIODS.map((each) => [each, words.periods[each]])}
        onChange={(value) => onChange('period', value)}
      />
      {text('action', action, words.anyAction)}
    </search>
  );
}

function Entries({ entries }: { readonly entries: readonly api.AuditEntry[] }) {
  const words = useWords<typeof en>({ en, de });
  return (
    <DataTable
      className="audit-table"
      columns={COLUMNS.map((column) => [words.auditColumns[column], `audit-${column}`])}
    >
      {entries.map((entry, at) => (
        <tr key={`${entry.at} ${at}`}>
          <td className="audit-at faint">
            <Time at={entry.at} />
          </td>
          <td className="audit-outcome">
            <span className={`status ${COLORS[entry.outcome]}`}>
              {words.outcomes[entry.outcome]}
              {entry.status !== undefined && <span className="numbers"> {entry.status}</span>}
            </span>
          </td>
          <td className="audit-who">
            {entry.user ?? <i className="faint">{words.nobody}</i>}
            {entry.by !== undefined && <span className="under">{entry.by}</span>}
          </td>
          <td className="audit-action">
            <span className="mono">{actionOf(entry)}</span>
            {entry.detail !== undefined && <span className="under">{entry.detail}</span>}
          </td>
          <td className="audit-from faint mono">{entry.address}</td>
        </tr>
      ))}
    </DataTable>
  );
}

import { useMemo } from 'react';
import { useLocation, useSearch } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useTitle } from '../../base/use-title.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import { Refusal } from '../../design/refusal.js';
import { SearchBox } from '../../design/search-box.js';
import { Empty, NoData } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { AgentGroup } from './agent-group.js';
import { type InstanceState, listOf, MAX_ROWS, STATES } from './instance-list.js';
import { colorsOf, StateBadge } from './state-badge.js';
import { useHostActions } from './use-host-actions.js';
import { type Hosts, useHosts, useRunning } from './use-instances.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** All instances by agent: how they are, what they work on, and what to do about it. */
export function InstancesScreen() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.title);
  const [{ language }] = usePreferences();
  const query = useHosts();
  const { data } = query;
  return (
    <section className="screen" aria-labelledby="instances-title">
      <header className="screen-head">
        <h1 id="instances-title">{words.title}</h1>
        <span className="faint numbers" role="status">
          {data && words.total(numberText(data.instances.length, language))}
        </span>
      </header>
      {data ? <Instances hosts={data} /> : <NoData query={query} lines={10} />}
    </section>
  );
}

function Instances({ hosts: { instances, agents } }: { readonly hosts: Hosts }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const running = useRunning();
  const actions = useHostActions();
  const query = new URLSearchParams(useSearch());
  const [, navigate] = useLocation();
  const state = STATES.find((each) => each === query.get('state'));
  const text = query.get('find') ?? '';
  const { groups, counts, matching } = useMemo(
    () => listOf(instances, agents, { state, text }),
    [instances, agents, state, text],
  );
  const change = (key: string, value: string) => {
    if (value === '') query.delete(key);
    else query.set(key, value);
    navigate(query.size === 0 ? '/instances' : `/instances?${query}`, { replace: true });
  };
  const isFiltered = state !== undefined || text !== '';
  if (groups.length === 0 && !isFiltered) {
    return (
      <Empty icon="server" title={words.none}>
        <p>{words.noneMore}</p>
      </Empty>
    );
  }
  return (
    <>
      <StateTabs counts={counts} at={state} onChange={(to) => change('state', to ?? '')} />
      <search className="filter-bar" aria-label={words.filters}>
        <SearchBox label={words.find} value={text} onChange={(value) => change('find', value)} />
      </search>
      <p role="status" className={actions.said === undefined ? 'visually-hidden' : 'faint'}>
        {actions.said}
      </p>
      {actions.fault && <Refusal words={words.refused} error={actions.fault} />}
      {groups.length === 0 && (
        <Empty icon="server" title={words.noneMatch}>
          <p>{words.noneMatchMore}</p>
          <button type="button" className="button" onClick={() => navigate('/instances', { replace: true })}>
            {words.clear}
          </button>
        </Empty>
      )}
      {groups.map((group) => (
        <AgentGroup key={group.id ?? ''} group={group} running={running} actions={actions} />
      ))}
      {matching > MAX_ROWS && (
        <p className="notice">
          <Icon name="info" />
          {words.cut(numberText(MAX_ROWS, language), numberText(matching, language))}
        </p>
      )}
      <ConfirmDialog question={actions.question} onClose={actions.closeQuestion} />
    </>
  );
}

interface StateTabsProps {
  readonly counts: Readonly<Record<InstanceState, number>>;
  readonly at: InstanceState | undefined;
  readonly onChange: (state: InstanceState | undefined) => void;
}

/** Number of instances in each state that occurs; a press shows only those. */
function StateTabs({ counts, at, onChange }: StateTabsProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const sum = Object.values(counts).reduce((all, count) => all + count, 0);
  return (
    <div className="pills">
      <button
        type="button"
        className="pill"
        aria-pressed={at === undefined}
        onClick={() => onChange(undefined)}
      >
        {words.all}
        <strong className="numbers">{numberText(sum, language)}</strong>
      </button>
      {STATES.filter((state) => counts[state] > 0 || state === at || isUsual(state)).map((state) => (
        <button
          key={state}
          type="button"
          className={`pill ${colorsOf(state)}`}
          aria-pressed={at === state}
          onClick={() => onChange(at === state ? undefined : state)}
        >
          <StateBadge state={state} isPlain />
          <strong className="numbers">{numberText(counts[state], language)}</strong>
        </button>
      ))}
    </div>
  );
}

/** Whether the state is shown although no instance is in it. */
function isUsual(state: InstanceState): boolean {
  return state === 'WORKING' || state === 'FREE' || state === 'FAILED';
}

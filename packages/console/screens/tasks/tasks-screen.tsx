import { useLocation, useSearch } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useTitle } from '../../base/use-title.js';
import { Empty, Failure, Loading } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { BulkActions } from './bulk/bulk-actions.js';
import { FilterBar } from './filter-bar.js';
import { type Filters, filtersIn, isUnfiltered, searchOf } from './filters.js';
import { StatusTabs } from './status-tabs.js';
import { TaskTable } from './task-table.js';
import { useTaskList } from './use-task-list.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** All tasks of the hub, newest first, by filters that are in the address. */
export function TasksScreen() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.title);
  const [{ language }] = usePreferences();
  const search = useSearch();
  const [, navigate] = useLocation();
  const filters = filtersIn(search);
  const { list, shown, isOld } = useTaskList(searchOf(filters));
  const change = (changed: Partial<Filters>) => {
    const wanted = searchOf({ ...filters, ...changed });
    navigate(wanted === '' ? '/tasks' : `/tasks?${wanted}`, { replace: true });
  };
  const { rows, total, counts, error, hasMore, isFull } = shown;
  const isFiltered = !isUnfiltered(filters);
  return (
    <section className="tasks" aria-labelledby="tasks-title">
      <header className="screen-head">
        <h1 id="tasks-title">{words.title}</h1>
        <span className="faint numbers" role="status">
          {total !== undefined && words.shown(numberText(total, language))}
        </span>
        <BulkActions filters={filters} filterOfList={() => list.filter} />
      </header>
      <StatusTabs filters={filters} counts={counts} onChange={change} />
      <FilterBar filters={filters} onChange={change} />
      <div className={`card tasks-card ${isOld ? 'old' : ''}`} aria-busy={isOld}>
        {error !== undefined && <Failure error={error} onAgain={() => list.again()} />}
        {error === undefined && total === undefined && <Loading lines={10} />}
        {error === undefined && total === 0 && (
          <Empty icon="list-checks" title={isFiltered ? words.noneMatch : words.none}>
            <p>{isFiltered ? words.noneMatchMore : words.noneMore}</p>
          </Empty>
        )}
        {error === undefined && total !== undefined && total > 0 && (
          <TaskTable
            key={search}
            rows={rows}
            total={total}
            hasMore={hasMore}
            initialOffset={list.scrolledTo}
            onScroll={(offset) => {
              list.scrolledTo = offset;
            }}
            onShow={(lastIndex) => {
              list.lastShown = lastIndex;
            }}
            onEnd={() => void list.loadMore()}
          />
        )}
      </div>
      {isFull && (
        <p className="notice">
          <Icon name="info" />
          {words.full}
        </p>
      )}
    </section>
  );
}

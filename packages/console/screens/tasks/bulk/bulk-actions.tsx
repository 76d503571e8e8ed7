import type { TaskFilter } from '@workbench-hub/client';
import { lazy, Suspense, useRef, useState } from 'react';
import { nowMs } from '../../../base/clock.js';
import { useRole } from '../../../data/hub.js';
import { Icon } from '../../../icons/icon.js';
import { useWords } from '../../../words/dictionary.js';
import { ALL_POINTS, type Filters, isUnfiltered } from '../filters.js';
import type { BulkKind } from './bulk-change.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const BulkDialog = lazy(async () => ({ default: (await import('./bulk-dialog.js')).BulkDialog }));

interface Asked {
  readonly kind: BulkKind;
  readonly filter: TaskFilter;
}

interface BulkActionsProps {
  readonly filters: Filters;
  /** Filter by which the list that is shown was asked for. */
  readonly filterOfList: () => TaskFilter;
}

/** Cancel and delete of all tasks that the filters of the list match. */
export function BulkActions({ filters, filterOfList }: BulkActionsProps) {
  const words = useWords<typeof en>({ en, de });
  const isUser = useRole('USER');
  const [asked, setAsked] = useState<Asked>();
  const opener = useRef<HTMLButtonElement>(null);
  if (!isUser) return null;
  const button = (kind: BulkKind) => (
    <button
      type="button"
      className="button plain"
      onClick={(event) => {
        opener.current = event.currentTarget;
        const now = nowMs();
        const filter = filterOfList();
        // Tasks that come while the reader decides are not meant.
        const toMs = Math.min(now, Date.parse(filter.to ?? '') || now);
        setAsked({ kind, filter: { ...filter, to: new Date(toMs).toISOString() } });
      }}
    >
      <Icon name={kind === 'cancel' ? 'ban' : 'trash'} />
      {words[kind]}
    </button>
  );
  return (
    <div className="bulk-actions">
      {button('cancel')}
      {button('delete')}
      {asked && (
        <Suspense>
          <BulkDialog
            kind={asked.kind}
            filter={asked.filter}
            unfiltered={isUnfiltered(filters) ? { hasPoints: filters.study === ALL_POINTS } : undefined}
            opener={opener}
            onClose={() => setAsked(undefined)}
          />
        </Suspense>
      )}
    </div>
  );
}

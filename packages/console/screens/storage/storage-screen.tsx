import { NotPossibleError } from '@workbench-hub/client';
import { type ReactNode, useRef, useState } from 'react';
import { useLocation, useSearch } from 'wouter';
import { useSteadyError } from '../../base/use-steady-error.js';
import { useTitle } from '../../base/use-title.js';
import { useRole } from '../../data/hub.js';
import { MoreButton } from '../../design/more-button.js';
import { SearchBox } from '../../design/search-box.js';
import { Empty, NoData } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { FileTable } from './file-table.js';
import { UnfinishedList } from './unfinished-list.js';
import { UploadList } from './upload-list.js';
import { type Area, type StorageFilter, useDrop, useStorage, useUploads } from './use-storage.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const AREAS: readonly Area[] = ['input', 'output'];

/** Files of the input and the output storage. */
export function StorageScreen() {
  const words = useWords<typeof en>({ en, de });
  useTitle(words.title);
  const query = new URLSearchParams(useSearch());
  const [, navigate] = useLocation();
  const area: Area = query.get('area') === 'output' ? 'output' : 'input';
  const filter = { prefix: query.get('prefix') ?? '', owner: query.get('owner') ?? '' };
  const change = (key: string, value: string) => {
    if (value === '' || value === 'input') query.delete(key);
    else query.set(key, value);
    navigate(query.size === 0 ? '/storage' : `/storage?${query}`, { replace: true });
  };
  return (
    <section className="screen storage" aria-labelledby="storage-title">
      <header className="screen-head">
        <h1 id="storage-title">{words.title}</h1>
        <span className="faint">{words.areasMore[area]}</span>
      </header>
      <div className="pills" role="group" aria-label={words.area}>
        {AREAS.map((each) => (
          <button
            key={each}
            type="button"
            className="pill"
            aria-pressed={each === area}
            onClick={() => change('area', each)}
          >
            {words.areas[each]}
          </button>
        ))}
      </div>
      <DropPlace isPossible={area === 'input'}>
        <FilterFields filter={filter} onChange={change} />
        <Files area={area} filter={filter} />
      </DropPlace>
    </section>
  );
}

interface DropPlaceProps {
  /** Whether files can be uploaded to what is shown. */
  readonly isPossible: boolean;
  readonly children: ReactNode;
}

/** The place where files are dropped, with the button for those who do not drag, and the uploads. */
function DropPlace({ isPossible, children }: DropPlaceProps) {
  const words = useWords<typeof en>({ en, de });
  const mayUpload = useRole('USER') && isPossible;
  const { uploads, list } = useUploads();
  const [isEncrypted, setEncrypted] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const { isOver, handlers } = useDrop((files) => uploads.add(files, isEncrypted));
  if (!mayUpload) return children;
  return (
    <div className={`drop-place ${isOver ? 'over' : ''}`} {...handlers}>
      <div className="upload-bar">
        <button type="button" className="button primary" onClick={() => field.current?.click()}>
          <Icon name="upload" />
          {words.upload}
        </button>
        <input
          ref={field}
          type="file"
          multiple
          hidden
          onChange={(event) => {
            uploads.add(event.target.files ?? [], isEncrypted);
            event.target.value = '';
          }}
        />
        <label className="check">
          <input
            type="checkbox"
            checked={isEncrypted}
            onChange={(event) => setEncrypted(event.target.checked)}
          />
          {words.encrypt}
        </label>
        <span className="faint drop-hint">{words.drop}</span>
      </div>
      <UnfinishedList list={list} />
      <UploadList uploads={uploads} list={list} />
      {children}
    </div>
  );
}

interface FilterFieldsProps {
  readonly filter: StorageFilter;
  readonly onChange: (key: string, value: string) => void;
}

function FilterFields({ filter: { prefix, owner }, onChange }: FilterFieldsProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <search className="filter-bar" aria-label={words.filters}>
      <SearchBox label={words.find} value={prefix} onChange={(value) => onChange('prefix', value)} />
      <div className="chip">
        <span aria-hidden="true">{words.owner}</span>
        <input
          className="input"
          aria-label={words.owner}
          placeholder={words.anybody}
          value={owner}
          onChange={(event) => onChange('owner', event.target.value)}
        />
      </div>
    </search>
  );
}

function Files({ area, filter }: { readonly area: Area; readonly filter: StorageFilter }) {
  const words = useWords<typeof en>({ en, de });
  const query = useStorage(area, filter);
  const error = useSteadyError(query);
  const files = query.data?.pages.flatMap((page) => page.files);
  const isFiltered = filter.prefix !== '' || filter.owner !== '';
  if (error instanceof NotPossibleError) {
    return (
      <div className="card">
        <Empty icon="database" title={words.off}>
          <p>{words.offMore}</p>
        </Empty>
      </div>
    );
  }
  return (
    <div className="card table-card">
      <NoData query={query} lines={8} />
      {files?.length === 0 && (
        <Empty icon="database" title={isFiltered ? words.noneMatch : words.none}>
          <p>{isFiltered ? words.noneMatchMore : area === 'input' ? words.noneInput : words.noneOutput}</p>
        </Empty>
      )}
      {files && files.length > 0 && <FileTable key={area} area={area} files={files} />}
      <MoreButton label={words.more} query={query} />
    </div>
  );
}

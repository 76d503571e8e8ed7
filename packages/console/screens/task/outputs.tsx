import { api, type TaskDetails } from '@workbench-hub/client';
import { lazy, Suspense, useMemo, useRef, useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { type Saving, useSaving } from '../../base/use-saving.js';
import { hub } from '../../data/hub.js';
import { SaveFault } from '../../design/save-fault.js';
import { SearchBox } from '../../design/search-box.js';
import { Empty, Loading } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText, sizeText } from '../../words/formats.js';
import { FileTable } from './file-table.js';
import { ManifestDownload } from './manifest-download.js';
import { NO_PLOT } from './place.js';
import type { PreviewedFile } from './preview/previewed-file.js';
import { usePlace } from './use-place.js';
import { isEnded } from './use-task.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Files from which on names are searched: a task may have 20,000. */
const MANY_FILES = 20;

const Preview = lazy(async () => ({ default: (await import('./preview/preview.js')).Preview }));

/** The files that came out, to look at and to download. */
export function Outputs({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const { id, outputs = [], storedFiles = [] } = task;
  const isEmpty = outputs.length === 0 && storedFiles.length === 0;
  return (
    <div className="inputs">
      {isEmpty && (
        <div className="card">
          <Empty icon="file" title={isEnded(task) ? words.noOutputs : words.noOutputsYet} />
        </div>
      )}
      {outputs.length > 0 && (
        <Files
          title={words.outputs}
          kind="file"
          archive={outputs.length > 1 ? id : undefined}
          files={outputs.map(({ path, size, digest }) => ({
            name: path,
            key: `${id} ${path} ${digest}`,
            size,
            fetch: (signal) => hub.task(id).output(path, { signal }),
          }))}
        />
      )}
      {storedFiles.length > 0 && (
        <Files
          title={words.stored}
          kind="stored"
          files={storedFiles.map(({ name, size }) => ({
            name,
            key: name,
            size,
            fetch: (signal) => hub.storage.output(name, { signal }),
          }))}
        />
      )}
      {isEnded(task) && <ManifestDownload id={id} />}
    </div>
  );
}

interface FilesProps {
  readonly title: string;
  /** Key of the address that names the previewed one. */
  readonly kind: 'file' | 'stored';
  /** Task all of whose outputs are offered as one archive. */
  readonly archive?: string | undefined;
  readonly files: readonly PreviewedFile[];
}

async function archiveOf(id: string): Promise<Response> {
  const { data } = await api.downloadTaskOutputs({
    client: hub.client,
    path: { id },
    parseAs: 'stream',
    throwOnError: true,
  });
  return new Response(data as unknown as ReadableStream);
}

/** Files with their previews. The address names the one that is shown. */
function Files({ title, archive, kind, files }: FilesProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [{ [kind]: shown }, change] = usePlace();
  const sorted = useMemo(() => inOrderOfReading(files), [files]);
  const shownFile = sorted.find(({ name }) => name === shown);
  const focus = useRef<() => void>(undefined);
  const [typed, setTyped] = useState('');
  const saving = useSaving();
  const wanted = typed.trim().toLowerCase();
  const found = sorted.filter(({ name }) => name.toLowerCase().includes(wanted));
  const show = (name: string | undefined) =>
    change({ file: undefined, stored: undefined, ...NO_PLOT, [kind]: name });
  return (
    <section className="card" aria-label={title}>
      <div className="files-bar">
        {files.length > MANY_FILES && (
          <FindFile typed={typed} onType={setTyped} found={numberText(found.length, language)} />
        )}
        {archive !== undefined && <DownloadAll id={archive} files={files} saving={saving} />}
      </div>
      <SaveFault saving={saving} />
      <FileTable
        title={title}
        files={found}
        shown={shownFile?.name}
        onShow={(name, focusAgain) => {
          focus.current = focusAgain;
          show(name === shown ? undefined : name);
        }}
        saving={saving}
      />
      {shown !== undefined && shownFile === undefined && <p className="faint">{words.noSuchOutput(shown)}</p>}
      {shownFile && (
        <Suspense fallback={<Loading lines={4} />}>
          <Preview
            key={shownFile.key}
            file={shownFile}
            onClose={() => {
              show(undefined);
              focus.current?.();
            }}
          />
        </Suspense>
      )}
    </section>
  );
}

/** Files by path, with numbers by their value: `f2` before `f10`. */
function inOrderOfReading(files: readonly PreviewedFile[]): readonly PreviewedFile[] {
  const { compare } = new Intl.Collator('en', { numeric: true });
  return [...files].sort((a, b) => compare(a.name, b.name));
}

interface DownloadAllProps {
  /** Task. */
  readonly id: string;
  readonly files: readonly PreviewedFile[];
  readonly saving: Saving;
}

/** All files in one archive. */
function DownloadAll({ id, files, saving }: DownloadAllProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const name = `${id}.tar`;
  const isPacking = saving.saving === name;
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return (
    <p className="download-all">
      <button
        type="button"
        className="button"
        disabled={isPacking}
        onClick={() => void saving.save(name, () => archiveOf(id))}
      >
        <Icon name={isPacking ? 'loader-circle' : 'download'} className={isPacking ? 'turning' : ''} />
        {words.downloadAll(sizeText(bytes, language))}
      </button>
    </p>
  );
}

interface FindFileProps {
  readonly typed: string;
  readonly onType: (text: string) => void;
  /** Number of files that are found. */
  readonly found: string;
}

/** The search among many files by a part of their path. */
function FindFile({ typed, onType, found }: FindFileProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <search className="find-file">
      <SearchBox label={words.findFile} value={typed} onChange={onType} />
      <span className="faint numbers" role="status">
        {words.files(found)}
      </span>
    </search>
  );
}

import { api, type TaskDetails } from '@workbench-hub/client';
import { lazy, Suspense, useRef, useState } from 'react';
import { hub } from '../../data/hub.js';
import { usePreferences } from '../../data/preference-store.js';
import { type Saving, useSaving } from '../../data/use-saving.js';
import { SaveFault } from '../../design/save-fault.js';
import { SearchBox } from '../../design/search-box.js';
import { ShowMore, useShownPart } from '../../design/shown-part.js';
import { Empty, Loading } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText, sizeText } from '../../words/formats.js';
import type { PreviewedFile } from './preview/previewed-file.js';
import { isEnded } from './use-task.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Files that are shown at first, and from which on names are searched: a task may have 20,000. */
const SHOWN_FILES = 200;
const MANY_FILES = 20;

const Preview = lazy(async () => ({ default: (await import('./preview/preview.js')).Preview }));

/** The files that came out, to look at and to download. */
export function Outputs({ task }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const { id, outputs = [], storedFiles = [] } = task;
  if (outputs.length === 0 && storedFiles.length === 0) {
    return (
      <div className="card">
        <Empty icon="file" title={isEnded(task) ? words.noOutputs : words.noOutputsYet} />
      </div>
    );
  }
  return (
    <div className="inputs">
      {outputs.length > 0 && (
        <Files
          title={words.outputs}
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
          files={storedFiles.map(({ name, size }) => ({
            name,
            key: name,
            size,
            fetch: (signal) => hub.storage.output(name, { signal }),
          }))}
        />
      )}
    </div>
  );
}

interface FilesProps {
  readonly title: string;
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

function Files({ title, archive, files }: FilesProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [shown, setShown] = useState<string>();
  const opener = useRef<HTMLButtonElement>(null);
  const shownFile = files.find(({ key }) => key === shown);
  const [typed, setTyped] = useState('');
  const saving = useSaving();
  const wanted = typed.trim().toLowerCase();
  const found = files.filter(({ name }) => name.toLowerCase().includes(wanted));
  const part = useShownPart(found, SHOWN_FILES);
  return (
    <section className="card" aria-label={title}>
      {archive !== undefined && <DownloadAll id={archive} files={files} saving={saving} />}
      <SaveFault saving={saving} />
      {files.length > MANY_FILES && (
        <FindFile typed={typed} onType={setTyped} found={numberText(found.length, language)} />
      )}
      <table className="plain-table files">
        <thead>
          <tr>
            <th scope="col">{title}</th>
            <th scope="col" className="size">
              {words.size}
            </th>
            <th scope="col">
              <span className="visually-hidden">{words.download}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {part.shown.map((file) => (
            <FileRow
              key={file.name}
              file={file}
              isShown={file.key === shown}
              onShow={(button) => {
                opener.current = button;
                setShown(file.key === shown ? undefined : file.key);
              }}
              isSaving={saving.saving === file.name}
              onSave={() => void saving.save(file.name, file.fetch)}
            />
          ))}
        </tbody>
      </table>
      <ShowMore {...part} />
      {shownFile && (
        <Suspense fallback={<Loading lines={4} />}>
          <Preview
            key={shownFile.key}
            file={shownFile}
            onClose={() => {
              setShown(undefined);
              opener.current?.focus();
            }}
          />
        </Suspense>
      )}
    </section>
  );
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

interface FileRowProps {
  readonly file: PreviewedFile;
  readonly isShown: boolean;
  readonly onShow: (button: HTMLButtonElement) => void;
  readonly isSaving: boolean;
  readonly onSave: () => void;
}

function FileRow({ file: { name, size }, isShown, isSaving, onShow, onSave }: FileRowProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  return (
    <tr>
      <th scope="row">
        <button
          type="button"
          className="button plain show-file"
          aria-expanded={isShown}
          onClick={(event) => onShow(event.currentTarget)}
        >
          <Icon name="file-text" /> <span className="path">{name}</span>
        </button>
      </th>
      <td className="size numbers">{sizeText(size, language)}</td>
      <td>
        <button
          type="button"
          className="button plain only-icon"
          aria-label={`${words.download}: ${name}`}
          disabled={isSaving}
          onClick={onSave}
        >
          <Icon name={isSaving ? 'loader-circle' : 'download'} className={isSaving ? 'turning' : ''} />
        </button>
      </td>
    </tr>
  );
}

import { api, type TaskDetails } from '@workbench-hub/client';
import { lazy, Suspense, useRef, useState } from 'react';
import { hub } from '../../data/hub.js';
import { usePreferences } from '../../data/preference-store.js';
import { saveResponse } from '../../data/save.js';
import { Refusal } from '../../design/refusal.js';
import { Empty, Loading } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import type { PreviewedFile } from './preview/previewed-file.js';
import { isEnded } from './use-task.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

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

/** Saves files one by one and as an archive; a fault is that of the last one. */
function useSaving() {
  const [fault, setFault] = useState<{ readonly name: string; readonly error: Error }>();
  const [isPacking, setPacking] = useState(false);
  const save = async ({ name, fetch }: Pick<PreviewedFile, 'name' | 'fetch'>) => {
    setFault(undefined);
    try {
      await saveResponse(await fetch(), name);
    } catch (error) {
      setFault({ name, error: error instanceof Error ? error : new Error(String(error)) });
    }
  };
  const saveAll = async (id: string) => {
    setPacking(true);
    await save({ name: `${id}.tar`, fetch: () => archiveOf(id) });
    setPacking(false);
  };
  return { fault, isPacking, save, saveAll };
}

function Files({ title, archive, files }: FilesProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [shown, setShown] = useState<string>();
  const opener = useRef<HTMLButtonElement>(null);
  const shownFile = files.find(({ key }) => key === shown);
  const { fault, isPacking, save, saveAll } = useSaving();
  return (
    <section className="card" aria-label={title}>
      {archive !== undefined && (
        <p className="download-all">
          <button type="button" className="button" disabled={isPacking} onClick={() => void saveAll(archive)}>
            <Icon name={isPacking ? 'loader-circle' : 'download'} />
            {words.downloadAll(
              sizeText(
                files.reduce((sum, { size }) => sum + size, 0),
                language,
              ),
            )}
          </button>
        </p>
      )}
      {fault && <Refusal words={`${fault.name}:`} error={fault.error} />}
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
          {files.map((file) => (
            <FileRow
              key={file.name}
              file={file}
              isShown={file.key === shown}
              onShow={(button) => {
                opener.current = button;
                setShown(file.key === shown ? undefined : file.key);
              }}
              onSave={() => void save(file)}
            />
          ))}
        </tbody>
      </table>
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

interface FileRowProps {
  readonly file: PreviewedFile;
  readonly isShown: boolean;
  readonly onShow: (button: HTMLButtonElement) => void;
  readonly onSave: () => void;
}

function FileRow({ file: { name, size }, isShown, onShow, onSave }: FileRowProps) {
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
          onClick={onSave}
        >
          <Icon name="download" />
        </button>
      </td>
    </tr>
  );
}

import type { TaskDetails } from '@workbench-hub/client';
import { useState } from 'react';
import { hub } from '../../data/hub.js';
import { usePreferences } from '../../data/preference-store.js';
import { saveResponse } from '../../data/save.js';
import { Empty } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import { isEnded } from './use-task.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** The files that came out, for download. */
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
          files={outputs.map(({ path, size }) => ({
            name: path,
            size,
            fetch: () => hub.task(id).output(path),
          }))}
        />
      )}
      {storedFiles.length > 0 && (
        <Files
          title={words.stored}
          files={storedFiles.map(({ name, size }) => ({
            name,
            size,
            fetch: () => hub.storage.output(name),
          }))}
        />
      )}
    </div>
  );
}

interface FilesProps {
  readonly title: string;
  readonly files: readonly {
    readonly name: string;
    /** Bytes. */
    readonly size: number;
    fetch(): Promise<Response>;
  }[];
}

function Files({ title, files }: FilesProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [fault, setFault] = useState<string>();
  const save = async ({ name, fetch }: FilesProps['files'][number]) => {
    setFault(undefined);
    try {
      await saveResponse(await fetch(), name);
    } catch (error) {
      setFault(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  return (
    <section className="card" aria-label={title}>
      {fault !== undefined && (
        <p className="notice of-failed" role="alert">
          {fault}
        </p>
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
          {files.map((file) => (
            <tr key={file.name}>
              <th scope="row">
                <Icon name="file-text" /> <span className="path">{file.name}</span>
              </th>
              <td className="size numbers">{sizeText(file.size, language)}</td>
              <td>
                <button
                  type="button"
                  className="button plain only-icon"
                  aria-label={`${words.download}: ${file.name}`}
                  onClick={() => void save(file)}
                >
                  <Icon name="download" />
                </button>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

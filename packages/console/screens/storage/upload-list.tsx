import { HubError } from '@workbench-hub/client';
import { useId, useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { ErrorWords } from '../../design/hub-words.js';
import { Icon, type IconName } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import {
  isGoing,
  isStorageName,
  storageNameFor,
  type Upload,
  type UploadStatus,
  type Uploads,
} from './uploads.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const COLORS: Readonly<Record<UploadStatus, string>> = {
  waiting: 'of-waiting',
  sending: 'of-running',
  paused: 'of-waiting',
  storing: 'of-running',
  done: 'of-finished',
  failed: 'of-failed',
  exists: 'of-waiting',
  name: 'of-waiting',
  canceled: 'of-canceled',
  gone: 'of-failed',
};

const ICONS: Partial<Record<UploadStatus, IconName>> = {
  done: 'circle-check',
  failed: 'circle-x',
  paused: 'unplug',
  gone: 'circle-x',
};

const TOO_LARGE: readonly string[] = ['QUOTA_EXCEEDED', 'BODY_TOO_LARGE'];

interface UploadListProps {
  readonly uploads: Uploads;
  readonly list: readonly Upload[];
}

/** Uploads with their progress, and what the reader decides about those that did not succeed. */
export function UploadList({ uploads, list }: UploadListProps) {
  const words = useWords<typeof en>({ en, de });
  if (list.length === 0) return null;
  return (
    <section className="card uploads" aria-label={words.uploads}>
      <header>
        <h2>{words.uploads}</h2>
        {!list.some(({ status }) => isGoing(status)) && (
          <button type="button" className="button plain" onClick={() => uploads.clear()}>
            <Icon name="x" />
            {words.dismiss}
          </button>
        )}
      </header>
      <ul>
        {list.map((upload) => (
          <UploadRow key={upload.id} upload={upload} uploads={uploads} />
        ))}
      </ul>
    </section>
  );
}

function UploadRow({ upload, uploads }: { readonly upload: Upload; readonly uploads: Uploads }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { id, file, name, status, sent } = upload;
  return (
    <li className={`upload ${COLORS[status]}`}>
      <Icon name={ICONS[status] ?? 'upload'} />
      <span className="upload-name">{name}</span>
      <span className="faint numbers">
        {status === 'sending' || status === 'paused'
          ? words.progress(sizeText(sent, language), sizeText(file.size, language))
          : sizeText(file.size, language)}
      </span>
      <span>
        {isGoing(status) && (
          <button
            type="button"
            className="button plain"
            aria-label={`${words.cancel}: ${name}`}
            onClick={() => uploads.cancel(id)}
          >
            {words.cancel}
          </button>
        )}
        {status === 'exists' && (
          <button
            type="button"
            className="button plain"
            aria-label={`${words.replace}: ${name}`}
            onClick={() => uploads.again(id, { overwrite: true })}
          >
            {words.replace}
          </button>
        )}
        {(status === 'gone' || status === 'failed' || status === 'canceled') && (
          <button
            type="button"
            className="button plain"
            aria-label={`${words.again}: ${name}`}
            onClick={() => uploads.again(id)}
          >
            {words.again}
          </button>
        )}
      </span>
      {isGoing(status) && (
        <progress aria-label={name} max={Math.max(file.size, 1)} value={status === 'waiting' ? 0 : sent} />
      )}
      <span className="upload-state" role="status">
        <StateText upload={upload} />
      </span>
      {(status === 'exists' || status === 'name') && (
        <NewName upload={upload} onName={(chosen) => uploads.again(id, { name: chosen })} />
      )}
    </li>
  );
}

function StateText({ upload: { status, fault, pausedBy } }: { readonly upload: Upload }) {
  const words = useWords<typeof en>({ en, de });
  if (status === 'paused' && pausedBy !== undefined) return words.paused[pausedBy];
  if (status !== 'failed' || fault === undefined) return words.states[status];
  const isTooLarge = fault instanceof HubError && TOO_LARGE.includes(fault.code);
  return (
    <>
      {isTooLarge && words.tooLarge} <ErrorWords error={fault} />
    </>
  );
}

interface NewNameProps {
  readonly upload: Upload;
  readonly onName: (name: string) => void;
}

/** A field for another name of the file. */
function NewName({ upload: { name, status }, onName }: NewNameProps) {
  const words = useWords<typeof en>({ en, de });
  const id = useId();
  const [typed, setTyped] = useState(status === 'name' ? storageNameFor(name) : name);
  const isPossible = isStorageName(typed) && (status === 'name' || typed !== name);
  return (
    <form
      className="new-name"
      onSubmit={(event) => {
        event.preventDefault();
        if (isPossible) onName(typed);
      }}
    >
      <label htmlFor={id}>{words.newName}</label>
      <input id={id} className="input" value={typed} onChange={(event) => setTyped(event.target.value)} />
      <button type="submit" className="button" disabled={!isPossible}>
        <Icon name="upload" />
        {words.upload}
      </button>
    </form>
  );
}

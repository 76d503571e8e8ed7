import { useMutation } from '@tanstack/react-query';
import { api, type StoredFile } from '@workbench-hub/client';
import { useState } from 'react';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { saveResponse } from '../../base/save.js';
import { hub, useRole } from '../../data/hub.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import { DataTable } from '../../design/data-table.js';
import { Refusal } from '../../design/refusal.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import { FileUse } from './file-use.js';
import { type Area, refreshStorage } from './use-storage.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Names of output files begin with the id of their task. */
const OF_TASK = /^([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})-(.+)$/;

interface FileTableProps {
  readonly area: Area;
  readonly files: readonly StoredFile[];
}

/** Files of an area, and what may be done to each. */
export function FileTable({ area, files }: FileTableProps) {
  const words = useWords<typeof en>({ en, de });
  const [removed, setRemoved] = useState<string>();
  const { mutate, data, error } = useMutation({
    mutationFn: async ({ act, said }: { act: () => Promise<unknown>; said?: string }) => {
      await act();
      return said;
    },
  });
  return (
    <>
      <p role="status" className={data === undefined ? 'visually-hidden' : 'faint storage-said'}>
        {data}
      </p>
      {error && <Refusal words={words.refused} error={error} />}
      <DataTable
        columns={[
          words.columns.name,
          [words.columns.size, 'size'],
          [words.columns.owner, 'owner'],
          [words.columns.stored, 'detail'],
          [words.columns.expires, 'date'],
          [words.columns.actions, 'actions'],
        ]}
      >
        {files.map((file) => (
          <FileRow
            key={file.name}
            area={area}
            file={file}
            onRenew={() =>
              mutate({
                act: async () => {
                  await hub.storage.exists(file.name, { renew: true });
                  await refreshStorage();
                },
                said: words.renewed(file.name),
              })
            }
            onRemove={() => setRemoved(file.name)}
            onDownload={() =>
              mutate({ act: async () => saveResponse(await contentOf(area, file.name), file.name) })
            }
          />
        ))}
      </DataTable>
      <ConfirmDialog
        question={
          removed === undefined
            ? undefined
            : {
                icon: 'trash',
                label: words.remove,
                title: words.removeTitle(removed),
                more: words.removeMore,
                act: async () => {
                  await hub.storage.delete(removed);
                  await refreshStorage();
                },
              }
        }
        onClose={() => setRemoved(undefined)}
      />
    </>
  );
}

async function contentOf(area: Area, name: string): Promise<Response> {
  if (area === 'output') return hub.storage.output(name);
  const { data } = await api.downloadInputFile({
    client: hub.client,
    path: { name },
    parseAs: 'stream',
    throwOnError: true,
  });
  return new Response(data as unknown as ReadableStream);
}

interface FileRowProps {
  readonly area: Area;
  readonly file: StoredFile;
  readonly onRenew: () => void;
  readonly onRemove: () => void;
  readonly onDownload: () => void;
}

function FileRow({ area, file, onRenew, onRemove, onDownload }: FileRowProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const isUser = useRole('USER');
  const { name, size, digest, encrypted, owner, storedAt, expiresAt } = file;
  const [, taskId, ownName = name] = (area === 'output' && OF_TASK.exec(name)) || [];
  const [isUseShown, setUseShown] = useState(false);
  const button = (icon: 'download' | 'rotate-ccw' | 'trash', label: string, act: () => void) => (
    <button
      type="button"
      className="button plain only-icon"
      aria-label={`${label}: ${name}`}
      title={label}
      onClick={act}
    >
      <Icon name={icon} />
    </button>
  );
  return (
    <>
      <tr>
        <th scope="row" title={digest === undefined ? undefined : words.digest(digest)}>
          <span className="item-name">{ownName}</span>
          {encrypted && (
            <span className="tag">
              <Icon name="shield" size={12} />
              &nbsp;{words.encrypted}
            </span>
          )}
          {taskId !== undefined && (
            <span className="under">
              <Link href={`/tasks/${taskId}`}>
                {words.ofTask} {taskId.slice(-8)}
              </Link>
            </span>
          )}
        </th>
        <td className="size numbers">{sizeText(size, language)}</td>
        <td className="owner">{owner}</td>
        <td className="detail faint">
          <Time at={storedAt} />
        </td>
        <td className="date faint">
          <Time at={expiresAt} />
        </td>
        <td className="actions">
          {area === 'input' && (
            <button
              type="button"
              className="button plain only-icon"
              aria-label={`${words.use}: ${name}`}
              aria-expanded={isUseShown}
              title={words.use}
              onClick={() => setUseShown(!isUseShown)}
            >
              <Icon name="list" />
            </button>
          )}
          {button('download', words.download, onDownload)}
          {area === 'input' && isUser && button('rotate-ccw', words.renew, onRenew)}
          {area === 'input' && isUser && button('trash', words.remove, onRemove)}
        </td>
      </tr>
      {isUseShown && <FileUse name={name} />}
    </>
  );
}

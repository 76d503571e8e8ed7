import { type DragEvent, useEffect, useRef, useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { ShowMore, useShownPart } from '../../design/shown-part.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import {
  type Draft,
  type DraftFile,
  type FileRole,
  withFileMoved,
  withFiles,
  withProgram,
  withRole,
} from './draft.js';
import { draftStore, newId } from './draft-store.js';
import { type ChosenFile, chosenFiles, droppedFiles } from './dropped-files.js';
import { ProgramChoice } from './program-choice.js';
import { useFocusLater } from './use-focus-later.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Lines that are shown at first: a folder may have thousands of files. */
const SHOWN_FILES = 200;
const ROLES: readonly FileRole[] = ['MODEL', 'SCRIPT', 'FILE'];
const ICONS = { MODEL: 'layers', SCRIPT: 'file-code', FILE: 'file' } as const;

interface PartProps {
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
}

/** Model, scripts and files of the job, by drag and drop or by choice. */
export function FilesCard({ draft, onChange }: PartProps) {
  const words = useWords<typeof en>({ en, de });
  // A folder takes time to read, in which the job may be changed otherwise.
  const add = (files: readonly ChosenFile[]) => onChange(withFiles(draftStore.get(), files, newId));
  const [unread, setUnread] = useState<string>();
  const isDragged = useFileDrag(
    (files) => {
      setUnread(undefined);
      add(files);
    },
    (error) => setUnread(error instanceof Error ? error.message : String(error)),
  );
  const [part, focusLater] = useFocusLater<HTMLElement>();
  const hasModel = draft.files.some(({ role }) => role === 'MODEL');
  const sorted = ROLES.flatMap((role) => draft.files.filter((file) => file.role === role));
  const lines = useShownPart(sorted, SHOWN_FILES);
  const remove = (id: string) => {
    const at = sorted.findIndex((file) => file.id === id);
    focusLater((place) => {
      const left = [...place.querySelectorAll<HTMLElement>('.remove-file')];
      return left[Math.min(at, left.length - 1)] ?? place.querySelector('input');
    });
    onChange({ ...draft, files: draft.files.filter((file) => file.id !== id) });
  };
  return (
    <section className="card part" aria-labelledby="files-title" ref={part}>
      <h2 id="files-title">{words.files}</h2>
      <div className={`drop ${isDragged ? 'over' : ''} ${sorted.length > 0 ? 'small' : ''}`}>
        <Icon name="upload" size={sorted.length > 0 ? 18 : 28} />
        <p>{isDragged ? words.dropHere : words.drop}</p>
        <div className="drop-buttons">
          <FileButton label={words.chooseFiles} onChoose={add} />
          <FileButton label={words.chooseFolder} isFolder onChoose={add} />
        </div>
      </div>
      {unread !== undefined && (
        <p className="notice of-failed" role="alert">
          <Icon name="circle-x" />
          <span>
            {words.unread} <span className="mono">{unread}</span>
          </span>
        </p>
      )}
      {sorted.length > 0 && (
        <ul className="draft-files">
          {lines.shown.map((file) => (
            <FileLine key={file.id} file={file} draft={draft} onChange={onChange} onRemove={remove} />
          ))}
        </ul>
      )}
      <ShowMore {...lines} />
      {sorted.length > 0 && <p className="faint">{words.roleHints}</p>}
      {!hasModel && (
        <details className="host-path" open={draft.hostPath !== ''}>
          <summary>{words.hostPath}</summary>
          <input
            className="input mono"
            aria-label={words.hostPath}
            placeholder={words.hostPathHint}
            spellCheck={false}
            value={draft.hostPath}
            onChange={(event) => onChange({ ...draft, hostPath: event.target.value })}
          />
        </details>
      )}
    </section>
  );
}

/** Takes files that are dropped anywhere on the page; tells whether some are above it. */
function useFileDrag(
  onFiles: (files: readonly ChosenFile[]) => void,
  onUnread: (error: unknown) => void,
): boolean {
  const [isDragged, setDragged] = useState(false);
  const latest = useRef({ onFiles, onUnread });
  latest.current = { onFiles, onUnread };
  useEffect(() => {
    const over = (event: globalThis.DragEvent) => {
      if (!event.dataTransfer?.types.includes('Files')) return;
      event.preventDefault();
      setDragged(true);
    };
    const leave = (event: globalThis.DragEvent) => event.relatedTarget === null && setDragged(false);
    const drop = (event: globalThis.DragEvent) => {
      event.preventDefault();
      setDragged(false);
      if (!event.dataTransfer) return;
      droppedFiles(event.dataTransfer).then(
        (files) => latest.current.onFiles(files),
        (error: unknown) => latest.current.onUnread(error),
      );
    };
    window.addEventListener('dragover', over);
    window.addEventListener('dragleave', leave);
    window.addEventListener('drop', drop);
    return () => {
      window.removeEventListener('dragover', over);
      window.removeEventListener('dragleave', leave);
      window.removeEventListener('drop', drop);
    };
  }, []);
  return isDragged;
}

interface FileButtonProps {
  readonly label: string;
  readonly isFolder?: boolean;
  readonly onChoose: (files: readonly ChosenFile[]) => void;
}

function FileButton({ label, isFolder = false, onChoose }: FileButtonProps) {
  return (
    <label className="button">
      {label}
      <input
        type="file"
        className="visually-hidden"
        multiple
        {...(isFolder ? { webkitdirectory: '' } : {})}
        onChange={(event) => {
          if (event.target.files) onChoose(chosenFiles(event.target.files));
          // The same file may be chosen again.
          event.target.value = '';
        }}
      />
    </label>
  );
}

interface FileLineProps extends PartProps {
  readonly file: DraftFile;
  readonly onRemove: (id: string) => void;
}

function FileLine({ file, draft, onChange, onRemove }: FileLineProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { id, path, size, role } = file;
  const isOneOfMany = role === 'SCRIPT' && draft.files.filter((each) => each.role === 'SCRIPT').length > 1;
  const allowDrag = (event: DragEvent) => event.stopPropagation();
  return (
    <li onDragStart={allowDrag}>
      <Icon name={ICONS[role]} />
      <span className="path">{path}</span>
      <span className="faint numbers">{sizeText(size, language)}</span>
      {isOneOfMany && (
        <span className="moves">
          <button
            type="button"
            className="button plain only-icon small"
            aria-label={words.earlier(path)}
            onClick={() => onChange(withFileMoved(draft, id, -1))}
          >
            <Icon name="chevron-left" className="up" size={14} />
          </button>
          <button
            type="button"
            className="button plain only-icon small"
            aria-label={words.later(path)}
            onClick={() => onChange(withFileMoved(draft, id, 1))}
          >
            <Icon name="chevron-down" size={14} />
          </button>
        </span>
      )}
      {role === 'SCRIPT' && (
        <ProgramChoice file={file} onChange={(program) => onChange(withProgram(draft, id, program))} />
      )}
      <select
        className="input role"
        aria-label={words.role(path)}
        value={role}
        onChange={(event) => onChange(withRole(draft, id, event.target.value as FileRole))}
      >
        {ROLES.map((each) => (
          <option key={each} value={each}>
            {words.roles[each]}
          </option>
        ))}
      </select>
      <button
        type="button"
        className="button plain only-icon remove-file"
        aria-label={words.remove(path)}
        onClick={() => onRemove(id)}
      >
        <Icon name="x" />
      </button>
    </li>
  );
}

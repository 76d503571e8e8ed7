import { useQuery } from '@tanstack/react-query';
import type { api, TaskDetails } from '@workbench-hub/client';
import { useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { useSaving } from '../../base/use-saving.js';
import { hub } from '../../data/hub.js';
import { taskKey } from '../../data/live-cache.js';
import { SaveFault } from '../../design/save-fault.js';
import { ShowMore, useShownPart } from '../../design/shown-part.js';
import { NoData } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import { textBeginning } from './text-beginning.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Rows and files that are shown at first: a task may have thousands. */
const SHOWN_VARIABLES = 200;
const SHOWN_FILES = 50;

/** Inputs of a task: variables, scripts, model and files. */
export function Inputs({ task: { id, inputs, variables } }: { readonly task: TaskDetails }) {
  const words = useWords<typeof en>({ en, de });
  const rows = useShownPart(variables, SHOWN_VARIABLES);
  const files = useShownPart(inputs, SHOWN_FILES);
  return (
    <div className="inputs">
      <section className="card" aria-labelledby="variables-title">
        <h2 id="variables-title">{words.variables}</h2>
        {variables.length === 0 ? (
          <p className="faint">{words.noVariables}</p>
        ) : (
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">{words.variable}</th>
                <th scope="col">{words.value}</th>
              </tr>
            </thead>
            <tbody>
              {rows.shown.map(({ key, value }) => (
                <tr key={key}>
                  <th scope="row" className="mono">
                    {key}
                  </th>
                  <td className="mono">{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        <ShowMore {...rows} />
      </section>
      {inputs.length === 0 && <p className="faint">{words.noInputs}</p>}
      {files.shown.map((file, at) => (
        <InputFile key={file.path} id={id} file={file} isOpenAtFirst={file.kind === 'SCRIPT' && at < 3} />
      ))}
      <ShowMore {...files} />
    </div>
  );
}

interface InputFileProps {
  readonly id: string;
  readonly file: api.TaskInputFile;
  readonly isOpenAtFirst: boolean;
}

function InputFile({ id, file: { kind, path, filename, size }, isOpenAtFirst }: InputFileProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const saving = useSaving();
  const staged = path.slice(path.indexOf('/') + 1);
  const name = filename ?? staged;
  const role = { MODEL: words.model, SCRIPT: words.script(staged), ADDITIONAL_FILE: words.file }[kind];
  const title = kind === 'SCRIPT' ? (filename ?? role) : name;
  return (
    <section className="card input-file" aria-label={title}>
      <header>
        <Icon name={kind === 'SCRIPT' ? 'file-code' : kind === 'MODEL' ? 'layers' : 'file'} />
        <strong>{title}</strong>
        {title !== role && <span className="quiet">{role}</span>}
        <span className="faint numbers">{sizeText(size, language)}</span>
        <button
          type="button"
          className="button plain"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {isOpen ? words.hide : words.show}
        </button>
        <button
          type="button"
          className="button plain only-icon"
          aria-label={`${words.download}: ${title}`}
          onClick={() => void saving.save(name, () => hub.task(id).input(path))}
        >
          <Icon name="download" />
        </button>
      </header>
      <SaveFault saving={saving} />
      {isOpen && <Content id={id} path={path} />}
    </section>
  );
}

function Content({ id, path }: { readonly id: string; readonly path: string }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const query = useQuery({
    queryKey: taskKey(id, 'input', path),
    queryFn: async ({ signal }) => textBeginning(await hub.task(id).input(path, signal)),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const { data } = query;
  if (data === undefined) return <NoData query={query} lines={4} />;
  if (data.text === undefined) return <p className="faint">{words.notText}</p>;
  return (
    <>
      <pre className="code" tabIndex={0}>
        {data.text}
      </pre>
      {data.isCut && <p className="faint">{words.firstPart(sizeText(data.bytes, language))}</p>}
    </>
  );
}

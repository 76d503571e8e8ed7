import { type FormEvent, useState } from 'react';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import type { Draft } from './draft.js';
import { contentOf, newId } from './draft-store.js';
import { deleteTemplate, draftOfTemplate, readTemplates, saveTemplate, type Template } from './templates.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

interface TemplatesCardProps {
  readonly draft: Draft;
  readonly onUse: (draft: Draft) => void;
}

/** Templates that this browser keeps, and a way to keep another one. */
export function TemplatesCard({ draft, onUse }: TemplatesCardProps) {
  const words = useWords<typeof en>({ en, de });
  const [templates, setTemplates] = useState(readTemplates);
  const [title, setTitle] = useState('');
  const [note, setNote] = useState<string>();
  const save = async () => {
    setNote(undefined);
    try {
      const { missing } = await saveTemplate(title.trim(), draft, contentOf);
      if (missing.length > 0) setNote(words.missing(missing.join(', ')));
      setTemplates(readTemplates());
      setTitle('');
    } catch (error) {
      setNote(error instanceof DOMException ? words.noRoom : String(error));
    }
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    void save();
  };
  const use = (template: Template) => {
    setNote(template.missing.length > 0 ? words.missing(template.missing.join(', ')) : undefined);
    onUse(draftOfTemplate(template, newId));
  };
  return (
    <section className="card part" aria-labelledby="templates-title">
      <h2 id="templates-title">{words.templates}</h2>
      {templates.length > 0 && (
        <ul className="templates">
          {templates.map((template) => (
            <li key={template.title}>
              <button
                type="button"
                className="button plain"
                aria-label={words.useTemplate(template.title)}
                onClick={() => use(template)}
              >
                <Icon name="file-text" />
                {template.title}
              </button>
              <button
                type="button"
                className="button plain only-icon"
                aria-label={words.remove(template.title)}
                onClick={() => {
                  deleteTemplate(template.title);
                  setTemplates(readTemplates());
                }}
              >
                <Icon name="x" size={14} />
              </button>
            </li>
          ))}
        </ul>
      )}
      <form className="save-template" onSubmit={onSubmit}>
        <input
          className="input"
          aria-label={words.templateTitle}
          placeholder={words.templateTitle}
          required
          maxLength={80}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
        <button type="submit" className="button">
          {words.saveTemplate}
        </button>
      </form>
      <div role="status">{note !== undefined && <p className="quiet">{note}</p>}</div>
    </section>
  );
}

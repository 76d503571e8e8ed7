import { useSaving } from '../../base/use-saving.js';
import { hub } from '../../data/hub.js';
import { SaveFault } from '../../design/save-fault.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

async function manifestOf(id: string): Promise<Response> {
  return new Response(`${JSON.stringify(await hub.task(id).manifest(), null, 2)}\n`);
}

/** Signed statement of how the result of an ended task came about, to be kept with it. */
export function ManifestDownload({ id }: { readonly id: string }) {
  const words = useWords<typeof en>({ en, de });
  const saving = useSaving();
  const name = `${id}.manifest.json`;
  const isSaving = saving.saving === name;
  return (
    <section className="card part" aria-label={words.manifest}>
      <p className="manifest">
        <button
          type="button"
          className="button"
          disabled={isSaving}
          onClick={() => void saving.save(name, () => manifestOf(id))}
        >
          <Icon name={isSaving ? 'loader-circle' : 'download'} className={isSaving ? 'turning' : ''} />
          {words.manifest}
        </button>
        <span className="faint">{words.manifestMore}</span>
      </p>
      <SaveFault saving={saving} />
    </section>
  );
}

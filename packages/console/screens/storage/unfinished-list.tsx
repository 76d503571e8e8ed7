import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { usePreferences } from '../../base/preference-store.js';
import { hub } from '../../data/hub.js';
import { askAgain } from '../../data/query-client.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { sizeText } from '../../words/formats.js';
import { discardUpload } from './send-file.js';
import { unfinishedUploads } from './unfinished-uploads.js';
import { isGoing, type Upload } from './uploads.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const KEY = ['unfinished-uploads'];

/** Uploads of this browser that ended in the middle, such as by a reload: choosing the same file again continues them. */
export function UnfinishedList({ list }: { readonly list: readonly Upload[] }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const begun = unfinishedUploads.ids();
  const going = new Set(list.filter(({ status }) => isGoing(status)).map(({ name }) => name));
  const { data = [] } = useQuery({
    queryKey: [...KEY, ...begun],
    enabled: begun.length > 0,
    queryFn: async ({ signal }) =>
      (await api.listInputUploads({ client: hub.client, signal, throwOnError: true })).data.uploads,
  });
  const left = data.filter(({ id, name, stored }) => begun.includes(id) && !stored && !going.has(name));
  if (left.length === 0) return null;
  const discard = async (id: string) => {
    unfinishedUploads.forgetId(id);
    await discardUpload(id).catch(() => undefined);
    await askAgain({ queryKey: KEY });
  };
  return (
    <section className="card uploads" aria-label={words.unfinished}>
      <header>
        <h2>{words.unfinished}</h2>
        <span className="faint">{words.unfinishedMore}</span>
      </header>
      <ul>
        {left.map(({ id, name, size, received }) => (
          <li key={id} className="upload of-waiting">
            <Icon name="upload" />
            <span className="upload-name">{name}</span>
            <span className="faint numbers">
              {words.progress(sizeText(received, language), sizeText(size, language))}
            </span>
            <span>
              <button
                type="button"
                className="button plain"
                aria-label={`${words.discard}: ${name}`}
                onClick={() => void discard(id)}
              >
                {words.discard}
              </button>
            </span>
            <progress aria-label={name} max={Math.max(size, 1)} value={received} />
          </li>
        ))}
      </ul>
    </section>
  );
}

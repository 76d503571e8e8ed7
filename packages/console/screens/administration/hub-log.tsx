import { api } from '@workbench-hub/client';
import { useSaving } from '../../base/use-saving.js';
import { hub } from '../../data/hub.js';
import { Refusal } from '../../design/refusal.js';
import { SaveFault } from '../../design/save-fault.js';
import { useWords } from '../../words/dictionary.js';
import { LogPane } from '../task/log-view.js';
import { useFollowedLog } from '../task/use-followed-log.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** The log file of the hub: its latest lines, and those that come. */
export function HubLog() {
  const words = useWords<typeof en>({ en, de });
  const read = async (query: { tail?: number; offset?: number }, signal?: AbortSignal) => {
    const { response } = await api.getHubLog({
      client: hub.client,
      query,
      parseAs: 'stream',
      ...(signal ? { signal } : {}),
      throwOnError: true,
    });
    return response;
  };
  const { log, error } = useFollowedLog('hub', read);
  const saving = useSaving();
  return (
    <>
      {error && <Refusal words={words.logAway} error={error} />}
      <SaveFault saving={saving} />
      <LogPane
        log={log}
        none={words.noLog}
        isFollowedAtFirst
        onDownload={() => void saving.save('hub.log', () => read({}))}
      />
    </>
  );
}

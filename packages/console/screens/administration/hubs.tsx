import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { usePreferences } from '../../base/preference-store.js';
import { hub } from '../../data/hub.js';
import { DataTable } from '../../design/data-table.js';
import { NoData } from '../../design/states.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const EVERY_MS = 2000;

/** The hubs of the cluster, or the only one. */
export function Hubs() {
  const words = useWords<typeof en>({ en, de });
  const query = useQuery({
    queryKey: ['hubs'],
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await api.listHubs({ client: hub.client, query: { size: 100 }, signal, throwOnError: true })).data,
  });
  if (!query.data) return <NoData query={query} lines={4} />;
  return (
    <section className="card table-card" aria-label={words.parts.hubs}>
      <DataTable
        columns={[
          words.hub,
          words.columns.state,
          words.hubColumns.work,
          [words.hubColumns.since, 'detail'],
          [words.columns.version, 'detail'],
        ]}
      >
        {query.data.content.map((each) => (
          <HubRow key={each.id} hubState={each} />
        ))}
      </DataTable>
    </section>
  );
}

function HubRow({ hubState }: { readonly hubState: api.HubState }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { id, address, status, responding, scheduler, agents, runningTasks, startedAt, version } = hubState;
  const isUp = status === 'UP';
  return (
    <tr>
      <th scope="row">
        <span className="item-name">{id}</span>
        {address !== undefined && <span className="hub-address faint">{address}</span>}
      </th>
      <td className="hub-states">
        <span className={`status plain ${isUp ? 'of-finished' : 'of-failed'}`}>
          <Icon name={isUp ? 'zap' : 'unplug'} size={14} />
          {isUp ? words.hubUp : words.hubDown}
        </span>
        {scheduler && <span className="status of-running">{words.schedules}</span>}
        {responding && <span className="status plain">{words.responds}</span>}
        {hubState.shutdownPreparedAt !== undefined && (
          <span className="status of-waiting">{words.shutdownOn}</span>
        )}
      </td>
      <td className="numbers">
        {words.hubWork(numberText(agents, language), numberText(runningTasks, language))}
      </td>
      <td className="detail">
        <Time at={startedAt} />
      </td>
      <td className="detail faint">{version}</td>
    </tr>
  );
}

import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { usePreferences } from '../../base/preference-store.js';
import { hub } from '../../data/hub.js';
import { useHubTime } from '../../data/hub-offset.js';
import { DataTable } from '../../design/data-table.js';
import { HubWords } from '../../design/hub-words.js';
import { NoData } from '../../design/states.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const EVERY_MS = 2000;

/** The hubs of the cluster, or the only one, and those that they join. */
export function Hubs() {
  return (
    <>
      <ClusterHubs />
      <Upstreams />
    </>
  );
}

function ClusterHubs() {
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

/** The hubs to which this one lends instances; nothing without any. */
function Upstreams() {
  const words = useWords<typeof en>({ en, de });
  const query = useQuery({
    queryKey: ['upstreams'],
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) =>
      (await api.listUpstreams({ client: hub.client, query: { size: 100 }, signal, throwOnError: true }))
        .data,
  });
  if (!query.data) return query.error ? <NoData query={query} lines={2} /> : null;
  const { content } = query.data;
  if (content.length === 0) return null;
  return (
    <section className="card table-card part" aria-labelledby="upstreams-title">
      <h2 id="upstreams-title">{words.upstreams}</h2>
      <DataTable
        columns={[
          words.hub,
          words.columns.state,
          words.upstreamColumns.lent,
          [words.upstreamColumns.since, 'detail'],
        ]}
      >
        {content.map((each) => (
          <UpstreamRow key={each.name} upstream={each} />
        ))}
      </DataTable>
    </section>
  );
}

function UpstreamRow({ upstream }: { readonly upstream: api.UpstreamState }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const hubTime = useHubTime();
  const { name, agentId, address, addresses, status, message, instances, loans, joinedAt } = upstream;
  const isUp = status === 'UP';
  const since = hubTime(joinedAt);
  const number = (value: number) => numberText(value, language);
  return (
    <tr>
      <th scope="row">
        <span className="item-name">{name}</span>
        <span className="hub-address faint">{address ?? addresses.join(', ')}</span>
      </th>
      <td className="hub-states">
        <span className={`status plain ${isUp ? 'of-finished' : 'of-failed'}`}>
          <Icon name={isUp ? 'zap' : 'unplug'} size={14} />
          {isUp ? words.joinedAs(agentId) : words.notJoined}
        </span>
        {message !== undefined && <HubWords>{message}</HubWords>}
      </td>
      <td className="numbers">
        {words.lent(
          number(instances.OFFERED),
          number(loans),
          number(instances.IN_USE),
          number(instances.KEPT),
        )}
      </td>
      <td className="detail">{since !== undefined && <Time at={since} />}</td>
    </tr>
  );
}

import { useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { usePreferences } from '../../base/preference-store.js';
import { useSteadyError } from '../../base/use-steady-error.js';
import { hub } from '../../data/hub.js';
import { Failure, Loading } from '../../design/states.js';
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
  const { data, refetch } = query;
  const error = useSteadyError(query);
  if (!data) return error ? <Failure error={error} onAgain={() => void refetch()} /> : <Loading lines={4} />;
  return (
    <section className="card table-card" aria-label={words.parts.hubs}>
      <table className="data-table">
        <thead>
          <tr>
            <th scope="col">{words.hub}</th>
            <th scope="col">{words.columns.state}</th>
            <th scope="col">{words.hubColumns.work}</th>
            <th scope="col" className="detail">
              {words.hubColumns.since}
            </th>
            <th scope="col" className="detail">
              {words.columns.version}
            </th>
          </tr>
        </thead>
        <tbody>
          {data.content.map((each) => (
            <HubRow key={each.id} hubState={each} />
          ))}
        </tbody>
      </table>
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

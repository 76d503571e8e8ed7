import { useQuery } from '@tanstack/react-query';
import { api, HubError } from '@workbench-hub/client';
import { Link } from 'wouter';
import { usePreferences } from '../../base/preference-store.js';
import { useSteadyError } from '../../base/use-steady-error.js';
import { hub } from '../../data/hub.js';
import { HubWords } from '../../design/hub-words.js';
import { Failure, Loading } from '../../design/states.js';
import { Time } from '../../design/time.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { INSTANCES_KEY } from './use-instances.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const EVERY_MS = 5000;

/** The crashes of an instance since its agent started. */
export function CrashesCard({ id }: { readonly id: string }) {
  const words = useWords<typeof en>({ en, de });
  const query = useQuery({
    queryKey: [...INSTANCES_KEY, 'crashes', id],
    refetchInterval: EVERY_MS,
    // That the agent is away is shown at once.
    retry: (_, failure) => !(failure instanceof HubError),
    queryFn: async ({ signal }) =>
      (await api.listInstanceCrashes({ client: hub.client, path: { id }, signal, throwOnError: true })).data,
  });
  const { data, refetch } = query;
  const error = useSteadyError(query);
  return (
    <section className="card facts" aria-labelledby="crashes-title">
      <h2 id="crashes-title">{words.crashes}</h2>
      {error && <Failure error={error} onAgain={() => void refetch()} />}
      {!data && !error && <Loading lines={2} />}
      {data && <Crashes data={data} />}
    </section>
  );
}

function Crashes({ data: { since, count, crashes } }: { readonly data: api.InstanceCrashes }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  return (
    <>
      <p className="faint">
        {count === 0 ? words.noCrashes : numberText(count, language)} {words.crashesSince} (
        <Time at={since} />)
      </p>
      {crashes.length > 0 && (
        <ol className="crashes">
          {crashes.map(({ at, reason, taskId }, index) => (
            <li key={count - index}>
              <span>
                <Time at={at} />
                {taskId !== undefined && (
                  <>
                    {' · '}
                    <Link href={`/tasks/${taskId}`}>{words.crashTask}</Link>
                  </>
                )}
              </span>
              <span className="crash-reason">
                <HubWords>{reason}</HubWords>
              </span>
            </li>
          ))}
        </ol>
      )}
      {count > crashes.length && (
        <p className="faint">{words.crashesCut(numberText(crashes.length, language))}</p>
      )}
    </>
  );
}

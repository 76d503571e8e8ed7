import { useMutation, useQuery } from '@tanstack/react-query';
import { api } from '@workbench-hub/client';
import { useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { hub } from '../../data/hub.js';
import { useHubTime } from '../../data/hub-offset.js';
import { askAgain } from '../../data/query-client.js';
import { ConfirmDialog } from '../../design/confirm-dialog.js';
import { Refusal } from '../../design/refusal.js';
import { NoData } from '../../design/states.js';
import { Time } from '../../design/time.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

const EVERY_MS = 1000;
const KEY = ['shutdown'];

/** Preparation of a shutdown: no new tasks, until the running ones have ended. */
export function Shutdown() {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const hubTime = useHubTime();
  const [isAsked, setAsked] = useState(false);
  const query = useQuery({
    queryKey: KEY,
    refetchInterval: EVERY_MS,
    queryFn: async ({ signal }) => {
      const [status, { counts }] = await Promise.all([
        api.getShutdownPreparation({ client: hub.client, signal, throwOnError: true }),
        hub.window({}, { limit: 1 }, signal),
      ]);
      return { ...status.data, running: counts.RUNNING };
    },
  });
  const { data } = query;
  const change = useMutation({
    mutationFn: async (initiated: boolean) => {
      const body = { initiated };
      await api.changeShutdownPreparation({ client: hub.client, body, throwOnError: true });
      await askAgain({ queryKey: KEY });
    },
  });
  if (!data) return <NoData query={query} lines={4} />;
  return (
    <section className="card shutdown" aria-labelledby="shutdown-title">
      <Heading isPrepared={data.initiated} since={hubTime(data.initiationTime)} />
      <p className="quiet">{words.shutdownMore}</p>
      <p role="status">
        {data.initiated && data.running === 0
          ? words.ready
          : words.running(numberText(data.running, language))}
      </p>
      {change.error && !isAsked && <Refusal words={words.refused} error={change.error} />}
      {data.initiated ? (
        <button
          type="button"
          className="button primary"
          disabled={change.isPending}
          onClick={() => change.mutate(false)}
        >
          <Icon name="play" />
          {words.takeBack}
        </button>
      ) : (
        <button type="button" className="button danger" onClick={() => setAsked(true)}>
          <Icon name="circle-slash" />
          {words.prepare}
        </button>
      )}
      <ConfirmDialog
        question={
          isAsked
            ? {
                icon: 'circle-slash',
                label: words.prepare,
                title: words.prepareTitle,
                more: words.prepareMore,
                act: () => change.mutateAsync(true),
              }
            : undefined
        }
        onClose={() => setAsked(false)}
      />
    </section>
  );
}

interface HeadingProps {
  readonly isPrepared: boolean;
  /** Absent while nothing is prepared. */
  readonly since: string | undefined;
}

function Heading({ isPrepared, since }: HeadingProps) {
  const words = useWords<typeof en>({ en, de });
  return (
    <h2 id="shutdown-title">
      <Icon name={isPrepared ? 'circle-slash' : 'circle-check'} size={20} />{' '}
      {isPrepared ? words.shutdownOn : words.shutdownOff}
      {since !== undefined && (
        <span className="quiet">
          {' '}
          {words.shutdownSince} <Time at={since} />
        </span>
      )}
    </h2>
  );
}

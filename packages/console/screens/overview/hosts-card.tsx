import type { WorkbenchInstance } from '@workbench-hub/client';
import { useState } from 'react';
import { usePreferences } from '../../base/preference-store.js';
import { Empty, Failure, Loading } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { numberText } from '../../words/formats.js';
import { stateOf } from '../instances/instance-list.js';
import { type Host, isWell } from './use-overview.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Hosts that are shown at first; those that ask for somebody to look are among them. */
const SHOWN_HOSTS = 30;
/** Instances of a host that are drawn. */
const SHOWN_INSTANCES = 200;

interface HostsCardProps {
  readonly hosts: {
    readonly data: readonly Host[] | undefined;
    readonly error: Error | null;
    readonly refetch: () => unknown;
  };
}

/** Hosts with the state of each of their instances. */
export function HostsCard({ hosts: { data, error, refetch } }: HostsCardProps) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? data : data?.slice(0, SHOWN_HOSTS);
  const others = (data?.length ?? 0) - (shown?.length ?? 0);
  return (
    <section className="card part" aria-labelledby="hosts-title">
      <h2 id="hosts-title">{words.hosts}</h2>
      {!data && (error ? <Failure error={error} onAgain={() => void refetch()} /> : <Loading lines={3} />)}
      {data?.length === 0 && (
        <Empty icon="server" title={words.noHosts}>
          <p>{words.noHostsMore}</p>
        </Empty>
      )}
      <ul className="hosts">
        {shown?.map((host) => (
          <HostLine key={host.id ?? ''} host={host} />
        ))}
      </ul>
      {others > 0 && (
        <button type="button" className="button plain show-more" onClick={() => setWhole(true)}>
          <Icon name="chevron-down" />
          {words.otherHosts(numberText(others, language))}
        </button>
      )}
    </section>
  );
}

function HostLine({ host }: { readonly host: Host }) {
  const words = useWords<typeof en>({ en, de });
  const [{ language }] = usePreferences();
  const { id, isUp, isDrained, instances } = host;
  const notUp = instances.filter(({ status }) => status !== 'UP' && status !== 'STARTING').length;
  const troubled = notUp === 0 ? words.up : words.notUp(numberText(notUp, language));
  const state = isDrained ? words.drained : isUp ? troubled : words.down;
  const stateClass = isWell(host) ? 'of-finished' : isUp ? 'of-waiting' : 'of-failed';
  return (
    <li className={stateClass}>
      <Icon
        name={isWell(host) ? 'circle-check' : isUp ? 'triangle-exclamation-point' : 'unplug'}
        className="state-icon"
      />
      <strong>{id ?? words.ownHost}</strong>
      <span className="host-state">{state}</span>
      <ul className="instance-boxes">
        {instances.slice(0, SHOWN_INSTANCES).map((instance) => (
          <InstanceBox key={instance.id} instance={instance} isDrained={isDrained} />
        ))}
        {instances.length > SHOWN_INSTANCES && (
          <li className="more-instances faint">
            {words.others(numberText(instances.length - SHOWN_INSTANCES, language))}
          </li>
        )}
      </ul>
    </li>
  );
}

const CLASS_OF = {
  WORKING: 'of-running',
  FREE: 'of-finished',
  KEPT: 'of-waiting is-drained',
  DRAINED: 'of-waiting is-drained',
  STARTING: 'of-waiting',
  STOPPING: 'of-waiting',
  DOWN: 'of-canceled',
  FAILED: 'of-failed',
  UNKNOWN: 'of-canceled',
} as const;

interface InstanceBoxProps {
  readonly instance: WorkbenchInstance;
  /** Whether its host is drained. */
  readonly isDrained: boolean;
}

function InstanceBox({ instance, isDrained }: InstanceBoxProps) {
  const words = useWords<typeof en>({ en, de });
  const state = stateOf(instance, { drained: isDrained });
  const text = words.instance(instance.id, words.states[state]);
  return (
    <li className={CLASS_OF[state]} title={text}>
      <span className="visually-hidden">{text}</span>
    </li>
  );
}

import type { WorkbenchInstance } from '@workbench-hub/client';
import { Empty, Loading } from '../../design/states.js';
import { Icon } from '../../icons/icon.js';
import { useWords } from '../../words/dictionary.js';
import { stateOf } from '../instances/instance-list.js';
import { type Host, isWell } from './use-overview.js';
import { de } from './words-de.js';
import { en } from './words-en.js';

/** Hosts with the state of each of their instances. */
export function HostsCard({ hosts }: { readonly hosts: readonly Host[] | undefined }) {
  const words = useWords<typeof en>({ en, de });
  return (
    <section className="card part" aria-labelledby="hosts-title">
      <h2 id="hosts-title">{words.hosts}</h2>
      {hosts === undefined && <Loading lines={3} />}
      {hosts?.length === 0 && (
        <Empty icon="server" title={words.noHosts}>
          <p>{words.noHostsMore}</p>
        </Empty>
      )}
      <ul className="hosts">
        {hosts?.map((host) => (
          <HostLine key={host.id ?? ''} host={host} />
        ))}
      </ul>
    </section>
  );
}

function HostLine({ host }: { readonly host: Host }) {
  const words = useWords<typeof en>({ en, de });
  const { id, isUp, isDrained, instances } = host;
  const state = isDrained ? words.drained : isUp ? words.up : words.down;
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
        {instances.map((instance) => (
          <InstanceBox key={instance.id} instance={instance} isDrained={isDrained} />
        ))}
      </ul>
    </li>
  );
}

const CLASS_OF = {
  WORKING: 'of-running',
  FREE: 'of-finished',
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

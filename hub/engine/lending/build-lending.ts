/** Lending of instances to other hubs. */
import type { OpenLoans } from '../../core/ports/open-loans.js';
import type { Signals } from '../../core/ports/signals.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { ShutdownPreparation } from '../scheduling/shutdown-preparation.js';
import { type ConfiguredUpstream, Lending } from './lending.js';
import type { UpstreamPorts } from './upstream.js';

export interface LendingPorts extends Pick<UpstreamPorts, 'files' | 'ownHub' | 'runtime' | 'log'> {
  readonly archive: TaskArchive;
  readonly loans: OpenLoans;
  /** Left out for a hub that never had any; loans of former upstreams are ended. */
  readonly upstreams?: readonly ConfiguredUpstream[] | undefined;
  readonly cluster: { readonly signals: Signals };
}

/** The subjects that were built before. */
interface Before
  extends Pick<UpstreamPorts, 'transitions' | 'scheduler' | 'instances' | 'control' | 'logFollower'> {
  readonly shutdown: ShutdownPreparation;
}

export function buildLending(ports: LendingPorts, before: Before): Lending {
  const { upstreams, archive, loans, files, ownHub, runtime, log, cluster } = ports;
  const { transitions, scheduler, instances, control, logFollower, shutdown } = before;
  const lending = new Lending({
    ...{ upstreams, archive, loans, files, ownHub, runtime, log },
    ...{ transitions, scheduler, instances, control, logFollower },
    isPaused: () => shutdown.isPaused,
  });
  if (upstreams === undefined || upstreams.length === 0) return lending;
  transitions.subscribe(lending.onTask);
  cluster.signals.hear(lending.onSignal);
  shutdown.subscribe(() => lending.pauseChanged());
  instances.onChange((instanceId) => lending.instanceChanged(instanceId));
  return lending;
}

/** Lending of instances to other hubs. */
import type { Hubs } from '../../core/ports/hubs.js';
import type { OpenLoans } from '../../core/ports/open-loans.js';
import type { Relay } from '../../core/ports/relay.js';
import type { Signals } from '../../core/ports/signals.js';
import type { TaskArchive } from '../../core/ports/task-archive.js';
import type { TaskQueue } from '../../core/ports/task-queue.js';
import type { Upstreams } from '../../core/ports/upstreams.js';
import type { HostEnds } from '../scheduling/host-ends.js';
import type { ShutdownPreparation } from '../scheduling/shutdown-preparation.js';
import { clusterUpstreams } from './cluster-upstreams.js';
import { type ConfiguredUpstream, Lending, type LendingOptions } from './lending.js';
import type { UpstreamPorts } from './upstream.js';

export interface LendingPorts extends Pick<UpstreamPorts, 'files' | 'ownHub' | 'audit' | 'runtime' | 'log'> {
  readonly archive: TaskArchive;
  readonly queue: TaskQueue;
  readonly loans: OpenLoans;
  /** Left out for a hub that never had any; loans of former upstreams are ended. */
  readonly upstreams?: readonly ConfiguredUpstream[] | undefined;
  readonly cluster: { readonly signals: Signals; readonly hubs: Hubs; readonly relay: Relay };
}

/** The subjects that were built before. */
interface Before
  extends Pick<
    LendingOptions,
    | 'transitions'
    | 'scheduler'
    | 'instances'
    | 'control'
    | 'logFollower'
    | 'exclusions'
    | 'recipeCapacity'
    | 'upstreamWishes'
  > {
  readonly shutdown: ShutdownPreparation;
  readonly hostEnds: HostEnds;
}

export function buildLending(
  ports: LendingPorts,
  before: Before,
): { readonly lending: Lending; readonly upstreams: Upstreams } {
  const { upstreams: configured, archive, queue, loans, files, ownHub, audit, runtime, log, cluster } = ports;
  const { transitions, scheduler, instances, control, logFollower, exclusions, shutdown } = before;
  const { recipeCapacity, upstreamWishes, hostEnds } = before;
  const lending = new Lending({
    ...{ upstreams: configured, archive, queue, loans, files, ownHub, audit, runtime, log },
    ...{
      transitions,
      scheduler,
      instances,
      control,
      logFollower,
      exclusions,
      hostEnds,
      recipeCapacity,
      upstreamWishes,
    },
    isPaused: () => shutdown.isPaused,
  });
  const { hubs, relay } = cluster;
  const upstreams = clusterUpstreams({ configured: configured ?? [], lending, hubs, relay });
  const built = { lending, upstreams };
  if (configured === undefined || configured.length === 0) return built;
  transitions.subscribe(lending.onTask);
  cluster.signals.hear(lending.onSignal);
  shutdown.subscribe(() => lending.pauseChanged());
  instances.onChange((instanceId) => lending.instanceChanged(instanceId));
  hostEnds.onChange((agentId) => lending.hostEndChanged(agentId));
  return built;
}

/** The upstreams as clients of any hub see them: the hub with the role of the scheduler is asked. */
import { LENT_STATES } from '@workbench-hub/shared/domain/instance';
import { HubError } from '../../core/errors.js';
import type { Hubs } from '../../core/ports/hubs.js';
import { AgentUnavailable, type Relay } from '../../core/ports/relay.js';
import type { Upstreams, UpstreamView } from '../../core/ports/upstreams.js';
import type { ConfiguredUpstream, Lending } from './lending.js';

export interface ClusterUpstreamsOptions {
  readonly configured: readonly ConfiguredUpstream[];
  readonly lending: Pick<Lending, 'views'>;
  readonly hubs: Pick<Hubs, 'ownId' | 'others' | 'all'>;
  readonly relay: Pick<Relay, 'askHub' | 'serveHub'>;
}

const TIMEOUT_MS = 5000;

export function clusterUpstreams({ configured, lending, hubs, relay }: ClusterUpstreamsOptions): Upstreams {
  relay.serveHub('upstreams', async () => ({ error: null, text: JSON.stringify(lending.views()) }));
  const seen = async (): Promise<readonly UpstreamView[]> => {
    const own = lending.views();
    if (own.length > 0 || hubs.others() === 0) return own;
    const scheduler = (await hubs.all()).find(({ isScheduler, isLive }) => isScheduler && isLive);
    if (!scheduler || scheduler.id === hubs.ownId) return own;
    return ask(scheduler.id, relay);
  };
  return {
    own: () => lending.views(),
    all: async () => {
      if (configured.length === 0) return [];
      const views = await seen();
      return configured.map((upstream) => views.find(({ name }) => name === upstream.name) ?? away(upstream));
    },
  };
}

async function ask(hubId: string, relay: ClusterUpstreamsOptions['relay']): Promise<readonly UpstreamView[]> {
  const asked = relay.askHub(hubId, { kind: 'upstreams' }, TIMEOUT_MS);
  const { text } = await asked.catch((cause: unknown) => {
    if (!(cause instanceof AgentUnavailable)) throw cause;
    const message = `hub ${hubId}, which joins the upstreams, cannot be asked: ${cause.message}`;
    throw new HubError('HUB_UNAVAILABLE', message, { cause });
  });
  return JSON.parse(text ?? '[]') as UpstreamView[];
}

/** An upstream that no hub joins at present. */
function away({ name, agentId, prefix, hub }: ConfiguredUpstream): UpstreamView {
  const instances = Object.fromEntries(LENT_STATES.map((state) => [state, 0])) as UpstreamView['instances'];
  return {
    name,
    agentId,
    prefix,
    addresses: hub.addresses,
    joined: null,
    failure: null,
    instances,
    loans: 0,
  };
}

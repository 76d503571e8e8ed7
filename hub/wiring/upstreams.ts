/** The hubs that this hub joins as an agent. */
import { httpFiles } from '@workbench-hub/shared/hub-link/http-files';
import { hubLink } from '@workbench-hub/shared/hub-link/hub-link';
import { askStatus } from '@workbench-hub/shared/hub-link/link-status';
import { hubConnections, TlsFiles } from '@workbench-hub/shared/hub-link/tls';
import { type Hub, JoinFailed } from '@workbench-hub/shared/joining/ports/hub';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import type { OnStop } from '@workbench-hub/shared/runtime/service';
import type { ConfiguredUpstream } from '../engine/lending/lending.js';
import { hoursOf, upstreamAddresses, upstreamName } from '../upstream-config.js';
import { upstreamSecret } from '../upstream-secret.js';
import type { Setup } from './setup.js';

/** Rejects with {@link StartRefused} for an upstream without token and credential, or with unusable certificates. */
export async function openUpstreams(
  { config, runtime, log }: Setup,
  hubId: string,
  onStop: OnStop,
): Promise<ConfiguredUpstream[]> {
  const opened: ConfiguredUpstream[] = [];
  for (const upstream of config.upstreams) {
    const tls = new TlsFiles(upstream.tls, (message) => log.error(message));
    await tls.current().catch((error: Error) => {
      throw new StartRefused(`upstream ${upstreamName(upstream)}: ${error.message}`, { cause: error });
    });
    const secret = await upstreamSecret(upstream, config);
    const dispatcher = hubConnections(tls);
    onStop(() => dispatcher.destroy());
    const { version, revision } = buildInfo;
    const link = hubLink({
      addresses: upstreamAddresses(upstream),
      agent: { id: upstream.id, nodeId: hubId, version, revision },
      secret,
      tls: () => tls.current(),
      runtime,
      files: (address, token) => httpFiles({ address, token, dispatcher }),
    });
    const { lend } = upstream;
    opened.push({
      name: upstreamName(upstream),
      agentId: upstream.id,
      prefix: upstream.prefix ?? `${upstream.id}:`,
      lend: {
        labels: lend.labels.map((label) => label.toLowerCase()),
        instances: lend.instances,
        max: lend.max,
        takeBackMs: lend.takeBack,
        isAlways: lend.when === 'always',
        hours: lend.hours.map(hoursOf),
        hasHosts: lend.hosts,
      },
      hub: ofHubs(link, { agentId: upstream.id, secret, tls: () => tls.current(), runtime }),
    });
  }
  return opened;
}

/** Joins only hubs that take hubs: an older one would take what is not offered for idle. */
function ofHubs(link: Hub, options: Parameters<typeof askStatus>[1]): Hub {
  return {
    ...link,
    join: async (address, listener, signal) => {
      const answer = await askStatus(address, options, signal);
      if (answer.kind !== 'ANSWERED')
        throw new JoinFailed(answer.reason, { isUnauthorized: answer.kind === 'REFUSED' });
      if (answer.status?.takesHubs !== true) {
        const version = answer.status ? `has version ${answer.status.hubVersion}` : 'is of an early version';
        throw new JoinFailed(`the hub at ${address} ${version}, which takes agents only, no hubs: update it`);
      }
      return link.join(address, listener, signal);
    },
  };
}

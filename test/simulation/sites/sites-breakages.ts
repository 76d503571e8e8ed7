/** Defects of hubs that join hubs, which their world must find. */
import type { WantedInstances } from '@workbench-hub/shared/domain/lent-recipe';
import type { SitesBreakage } from './sites-world.js';

export const SITES_BREAKAGES: readonly SitesBreakage[] = [
  {
    name: 'a hub forgets its loans when it is restarted',
    fromSeed: 3,
    hub: ({ loans }) => ({ loans: { ...loans, all: async () => [] } }),
  },
  {
    name: 'a loan whose closing fails stays open',
    hub: ({ loans }) => {
      let closings = 0;
      // Every third fails, which nobody hears.
      const close: typeof loans.close = (ids) =>
        ++closings % 3 === 0 ? Promise.resolve() : loans.close(ids).catch(() => undefined);
      return { loans: { ...loans, close } };
    },
  },
  {
    name: 'a hub ignores some assignments of its upstream',
    fromSeed: 7,
    link: (hub, world) => ({
      ...hub,
      join: (address, listener, signal) =>
        hub.join(
          address,
          {
            ...listener,
            onAssign: (assignment) => {
              if (!world.happens(0.1)) listener.onAssign(assignment);
            },
          },
          signal,
        ),
    }),
  },
  {
    name: 'a hub tells nothing of its instances after it has joined',
    fromSeed: 2,
    link: (hub) => ({
      ...hub,
      join: (address, listener, signal) => {
        const onJoined: typeof listener.onJoined = (connection) =>
          listener.onJoined({ ...connection, sendInstance: () => undefined });
        return hub.join(address, { ...listener, onJoined }, signal);
      },
    }),
  },
  {
    name: 'what was wanted of a hub once is wanted for as long as its upstream asks',
    fromSeed: 56,
    link: (hub) => {
      let once: readonly WantedInstances[] = [];
      return {
        ...hub,
        join: (address, listener, signal) => {
          const onRequest: typeof listener.onRequest = (request) => {
            if (request.kind !== 'bringHosts') return listener.onRequest(request);
            if (request.wanted?.length) once = request.wanted;
            return listener.onRequest({ ...request, wanted: once });
          };
          return hub.join(address, { ...listener, onRequest }, signal);
        },
      };
    },
  },
];

/** Files of test/contract that `npm run test:cluster` leaves out, with the reason: they are about what each hub has for itself, or start
 *  several hubs of their own. Single tests ask for HUBS (test/support/hubs/hubs-under-test.ts). */
export const NOT_BY_SEVERAL_HUBS: Readonly<Record<string, string>> = {
  'test/contract/agent-enrollment.test.ts': 'limits of tries and of log lines protect one hub',
  'test/contract/agent-moves.test.ts': 'tells the hub which other ones there are',
  'test/contract/faults.test.ts': 'what is no HTTP, which a load balancer refuses or changes',
  'test/contract/hub-lifecycle.test.ts':
    'start and stop of one hub, with its data folder and its connections',
  'test/contract/joined-hubs-table.test.ts': 'cuts the one link between two hubs',
  'test/contract/large-bodies.test.ts':
    'bodies that are cut or refused early, whose responses a load balancer may lose',
  'test/contract/logfile.test.ts': 'each hub has its own log file',
  'test/contract/metrics.test.ts': 'counters are those of one hub',
  'test/contract/oidc-provider.test.ts': 'each hub asks the provider, and keeps its keys',
  'test/contract/overload.test.ts': 'limits protect one hub',
  'test/contract/quota.test.ts': 'each hub counts its uploads under way',
  'test/contract/resumable-uploads.test.ts': 'an unfinished upload is at the hub at which it began',
  'test/contract/several-hubs.test.ts': 'starts three hubs by itself',
  'test/contract/signing-keys.test.ts': 'key files of one data folder',
  'test/contract/storage-folder.test.ts': 'the blobs of a hub that was alone',
  'test/contract/tus-client.test.ts': 'an unfinished upload is at the hub at which it began',
};

import { invariant, type PagePromises, PROMISES_NOTHING, test } from './promises.js';

/** The interface of three hubs on one database. */
const CONTRACT = 'test/contract/several-hubs.test.ts';
/** Engines of three hubs on one store. */
const ENGINE = 'test/engine/several-hubs.test.ts';
/** Hubs on one database, joined as in production. */
const CLUSTER = 'test/conformance/postgres-cluster-hubs.test.ts';
const PRESENCE = 'test/conformance/postgres-cluster-presence.test.ts';
const SIGNALS = 'test/conformance/postgres-cluster-signals.test.ts';
const TERMS = 'test/conformance/postgres-terms.test.ts';
/** Hubs as processes that fail. */
const FAULTS = 'test/scenarios/several-hubs-faults.test.ts';
const DATABASE = 'test/scenarios/several-hubs-and-their-database.test.ts';
const AGENTS = 'test/scenarios/agents-and-several-hubs.test.ts';
const AGENT = 'agent/several-hubs.test.ts';
const BALANCER = 'test/scenarios/load-balancer.test.ts';
const UPGRADE = 'test/scenarios/rolling-upgrade.test.ts';
const TIMES = 'test/repository/several-hubs-page.test.ts';

export const SEVERAL_HUBS: PagePromises = {
  page: 'packages/docs/several-hubs.md',
  blocks: [
    {
      begins: 'Two or more hubs on one [PostgreSQL](postgresql.md)',
      heldBy: [
        test(
          CONTRACT,
          'run a task that one of them accepts on an agent of another, for a client that waits at a third',
        ),
        test('shared/joining/hub-addresses.test.ts', 'so that agents spread within 20 %'),
        test(FAULTS, 'stops in order have another within a second'),
        test(FAULTS, 'is killed have another within six seconds'),
        test(UPGRADE, 'lets both versions serve everything, and is finished when the last old hub has ended'),
        test(AGENTS, 'joins the other when its hub %s'),
        test(BALANCER, 'gives each of them requests, and none fails while one of them stops'),
      ],
    },
    {
      begins: '`npm run quickstart -- --cluster`',
      heldBy: [
        test('test/scenarios/quickstart-cluster.test.ts', 'kills a hub under a running job with --cluster'),
      ],
    },
    { begins: 'Give each hub the same configuration,', heldBy: PROMISES_NOTHING },
    {
      begins: "- **`dataDir`** is each hub's",
      heldBy: [
        test(CLUSTER, 'is made once, and refused when something else is in its file'),
        test(CLUSTER, 'refuse a second hub with the id of one that runs, in words'),
        test(FAULTS, 'refuse one on a copy of the data folder of another, in words, while that runs'),
      ],
    },
    {
      begins: '- **`storage.folder`** or',
      heldBy: [
        test(CONTRACT, 'refuse one with another place of blobs, in words'),
        test(
          'test/conformance/postgres-opening.test.ts',
          'is refused to a second hub that would not find the blobs',
        ),
      ],
    },
    {
      begins: '- **Keys** (for tokens, agents',
      heldBy: [
        test('test/contract/sealed-keys.test.ts', 'are sealed in it with one hub too, and shared by those'),
        test('test/contract/sealed-keys.test.ts', 'are of no use to a hub with another key, or without one'),
        test('test/contract/sealed-keys.test.ts', 'of an earlier version stay in clear until there is a key'),
        test('test/contract/joining-with-keys.test.ts', 'is refused while files in %s are encrypted with it'),
        test(
          'test/contract/joining-with-keys.test.ts',
          'keeps a copy of it when it takes over that of the others',
        ),
      ],
    },
    {
      begins: '- **`server.address`** is',
      heldBy: [test(CONTRACT, 'and the address at which agents reach it')],
    },
    {
      begins: '- In front of them, a [load',
      heldBy: [
        test(BALANCER, 'gives each of them requests, and none fails while one of them stops'),
        test(
          CONTRACT,
          'run a task that one of them accepts on an agent of another, for a client that waits at a third',
        ),
      ],
    },
    {
      begins: '- **Agents** get the address',
      heldBy: [
        test('shared/joining/hub-addresses.test.ts', 'so that agents spread within 20 %'),
        test('shared/joining/hub-session.test.ts', 'tries the hubs of a list one after the other'),
        test(AGENT, 'by the welcome, joins it when its own is gone'),
        test(AGENT, 'by a later message, joins it when its own is gone'),
        test(ENGINE, 'are asked to move when one hub has many more than the others, until they are spread'),
      ],
    },
    {
      begins: '`GET /api/x/hubs` lists the',
      heldBy: [
        test(CONTRACT, 'list each other, with one scheduler'),
        test(CONTRACT, 'list the version, agents and running tasks of each'),
        test('test/conformance/postgres-cluster-doctor.test.ts', 'has every hub, its role and its clock'),
        test(
          'test/conformance/postgres-cluster-doctor.test.ts',
          'finds another version, a wrong clock, and a hub',
        ),
        test(
          'test/conformance/postgres-cluster-doctor.test.ts',
          'has no hub where none runs, or none ever did',
        ),
        test('test/scenarios/quickstart-cluster.test.ts', 'kills a hub under a running job with --cluster'),
        test(CONTRACT, 'show metrics of their own, and of all'),
        test('test/scenarios/prometheus.test.ts', 'raises the alerts of a cluster once for all its hubs'),
      ],
    },
    {
      begins: 'One hub at a time schedules.',
      heldBy: [
        invariant('one hub schedules'),
        test(FAULTS, 'stops in order have another within a second'),
        test(FAULTS, 'is killed have another within six seconds'),
        test(CLUSTER, 'moves within six seconds from a hub that is cut off, which loses it before'),
        test(ENGINE, 'and its instances are listed alike by all hubs'),
        test(SIGNALS, 'reaches the hub that holds the agent, and brings a large reply in any characters'),
        test(CONTRACT, 'command the instances of each other'),
      ],
    },
    {
      begins: '| a hub stops in order |',
      heldBy: [
        test('test/contract/agent-moves.test.ts', 'asks the agents to move, and waits for them'),
        test(AGENT, 'takes along what runs and what is not delivered, and nothing ends twice'),
        test(AGENTS, 'moves to another that its hub has told it of, when that stops'),
      ],
    },
    {
      begins: '| a hub is killed | its agents',
      heldBy: [
        test(AGENTS, 'joins the other when its hub %s'),
        test(
          PRESENCE,
          'holds no agents: they may join from another node, and the scheduler tells that they left',
        ),
        test(TIMES, 'those that do not return count as unreachable after 15 s'),
        test(ENGINE, 'ends the lease of an agent that left before, from the start of its own term'),
      ],
    },
    {
      begins: '| a hub hangs (`SIGSTOP`,',
      heldBy: [
        test(FAULTS, 'is paused for longer than its term have another within six seconds, and no task twice'),
        test(TERMS, 'claim nothing by a statement that was under way before the next term began'),
        test(TERMS, 'take nothing back by a statement that was under way before the next term began'),
        invariant('a claim takes place in its term'),
        invariant('a lapsed lease takes an attempt within its fence'),
      ],
    },
    {
      begins: '| a hub loses the database',
      heldBy: [
        test(FAULTS, 'let the agents of one that is cut off from the database move, with what they run'),
        test(
          ENGINE,
          'is let go by a hub that cannot reach the store, and goes on with its attempt at another',
        ),
        test(TIMES, 'after about twelve seconds it asks its agents to join the others'),
        invariant('a hub that is cut off lets its agents go'),
      ],
    },
    {
      begins: '| notifications of the database',
      heldBy: [
        test(DATABASE, 'carry out tasks although no notification arrives any more'),
        test(SIGNALS, 'are backed by reading again now and then, while another hub lives'),
        test(SIGNALS, 'arrives without notifications'),
        test(TIMES, 'the hubs read again at least every ten seconds'),
      ],
    },
    {
      begins: '| the database is away for',
      heldBy: [
        test(DATABASE, 'lose nothing and end nothing twice while that is restarted under load'),
        test(DATABASE, 'go on after all was without power, and %s is back'),
        test(
          'test/conformance/postgres-cluster-faults.test.ts',
          'do not let their agents go when they are alone',
        ),
        invariant('nothing is lost'),
      ],
    },
    {
      begins: '| the database server crashes',
      heldBy: [
        test(DATABASE, 'go on after all was without power, and %s is back'),
        test(
          'test/conformance/postgres-lanes.test.ts',
          'end when the server has lost the latest claims in a crash',
        ),
        test(
          'test/repository/systemd-units.test.ts',
          'signals its main process only, and restarts it after a crash',
        ),
      ],
    },
    {
      begins: '| one hub has far more agents',
      heldBy: [
        test(ENGINE, 'are asked to move when one hub has many more than the others, until they are spread'),
      ],
    },
    {
      begins: '**Prepare a shutdown** of',
      heldBy: [
        test(CONTRACT, 'are prepared for a shutdown one by one, or together'),
        test(CONTRACT, 'are prepared together by requests to their public address'),
        test(ENGINE, 'gives out tasks while others live, and none when it is the only one left'),
        test(ENGINE, 'accept no tasks and give out none until that is revoked'),
        test(CLUSTER, 'of a hub are its own, and end with it; that of all hubs stays'),
      ],
    },
    {
      begins: '**Upgrade** one hub after',
      heldBy: [
        test(UPGRADE, 'lets both versions serve everything, and is finished when the last old hub has ended'),
        test('test/conformance/postgres-generations.test.ts', 'beside which the former ones start again'),
        test('test/conformance/postgres-generations.test.ts', 'are finished when no former hub lives'),
      ],
    },
    {
      begins: '- `GET /api/x/audit` shows',
      heldBy: [
        test(CONTRACT, 'show the audit log of all, page by page at any of them'),
        test('hub/audit/cluster-audit.test.ts', 'lacks those of hubs that do not run'),
        test('hub/audit/cluster-audit.test.ts', 'goes on with a hub that did not run for one page'),
      ],
    },
    {
      begins: '- Server info, metrics and',
      heldBy: [test(CONTRACT, 'show metrics of their own, and of all')],
    },
    {
      begins: '- Wrong passwords count for',
      heldBy: [
        test('test/conformance/login-records-suite.ts', 'count ten attempts of a key, of all hubs'),
        test('test/conformance/login-records-suite.ts', 'count ten of simultaneous attempts'),
      ],
    },
    { begins: '- A browser that logs in', heldBy: PROMISES_NOTHING },
    {
      begins: '- A resumable upload goes',
      heldBy: [
        test(CONTRACT, 'take the parts of a resumable upload at the hub at which it began, and lose nothing'),
        test(CONTRACT, 'lose a resumable upload 15 minutes after its latest progress'),
        test(
          'packages/client/session.test.ts',
          'is repeated while the hub is overloaded, after the time that it names',
        ),
      ],
    },
    { begins: '- `webhooks.maxWaiting` and', heldBy: PROMISES_NOTHING },
    {
      begins: '- Files that were deleted',
      heldBy: [
        test(
          CONTRACT,
          'remove overwritten and deleted files within seconds, whichever of them got the request',
        ),
        test('test/conformance/blob-removal.test.ts', 'until nobody has used it for an hour'),
        test(CLUSTER, 'are removed when nobody has seen their hub for a day'),
      ],
    },
    {
      begins: '- Each hub knows the run times',
      heldBy: [
        test(
          'test/engine/several-hubs.test.ts',
          'that has finished tells all hubs its run time, whatever the wall clock does, and they expect it of similar tasks',
        ),
      ],
    },
    { begins: '- A network file system that', heldBy: PROMISES_NOTHING },
  ],
};

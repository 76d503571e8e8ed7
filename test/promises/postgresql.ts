import { invariant, type PagePromises, PROMISES_NOTHING, test } from './promises.js';

/** The hub of the page, as a process. */
const PAGE = 'test/scenarios/postgresql-page.test.ts';
const CHECK = 'test/conformance/postgres-check.test.ts';
const FAULTS = 'test/conformance/postgres-faults.test.ts';
const OPENING = 'test/conformance/postgres-opening.test.ts';
const LOCK = 'test/conformance/postgres-lock.test.ts';
const LANES = 'test/conformance/postgres-lanes.test.ts';
const LOST_WORK = 'test/conformance/postgres-lost-work.test.ts';
const LOST_RESPONSES = 'test/conformance/postgres-lost-responses.test.ts';
const LOST_ACCOUNTS = 'test/conformance/postgres-lost-account-commits.test.ts';
const FAILOVER = 'test/conformance/postgres-failover.test.ts';
const LISTS = 'test/conformance/postgres-lists.test.ts';
const SEALED = 'test/contract/sealed-keys.test.ts';
const UPGRADE = 'test/scenarios/rolling-upgrade.test.ts';

const TOO_OLD = test(CHECK, 'finds a server that is too old, on which no hub starts');
const STANDBY = test(FAILOVER, 'does not begin on a standby, and writes nothing while it is led to one');
const FAILS_OVER = test(FAILOVER, 'loses nothing that it has acknowledged, and does nothing twice');
const SECOND_HUB_AND_BACKUPS = test(PAGE, 'refuses a second hub and backups in words');
const REFUSED_BY_SETTING = test(OPENING, 'is refused with ALTER DATABASE … %s');
const LARGE_BLOBS = test('test/conformance/blob-store.test.ts', 'of %d bytes can be put and read');
const TOO_LONG = test(FAULTS, 'ends a statement that takes too long, after which the connection is usable');
const LOST_CLAIMS = test(PAGE, 'ends with code 1 and says why when its server has lost claims in a crash');

export const POSTGRESQL: PagePromises = {
  page: 'packages/docs/postgresql.md',
  blocks: [
    { begins: 'For the administrators of', heldBy: PROMISES_NOTHING },
    {
      begins: 'To try it without a server',
      heldBy: [
        test(
          'test/scenarios/quickstart.test.ts',
          'does the same job with --postgres, and leaves no database',
        ),
      ],
    },
    { begins: '| needs | a folder on a local', heldBy: [TOO_OLD] },
    {
      begins: '| speed | highest: no network',
      heldBy: [
        test(
          'hub/store/postgres/lanes/lane.test.ts',
          'writes what arrives while a statement is under way with the next one',
        ),
      ],
    },
    {
      begins: '| backup | `workbench-hub',
      heldBy: [
        test('test/scenarios/backup.test.ts', 'has every task with its blobs, large or small (%s)'),
        SECOND_HUB_AND_BACKUPS,
      ],
    },
    { begins: '| loss of the machine | the', heldBy: [FAILS_OVER] },
    {
      begins: '| several hubs | – | [any',
      heldBy: [
        test('test/contract/hub-lifecycle.test.ts', 'is refused while another hub uses the data folder'),
        test('test/contract/several-hubs.test.ts', 'list each other, with one scheduler'),
      ],
    },
    { begins: '| disk | that of the hub', heldBy: [LARGE_BLOBS] },
    {
      begins: 'Take SQLite unless you operate',
      heldBy: [
        test('test/conformance/postgres.test.ts', "describeTaskStore('PostgreSQL', openOnPostgres)"),
        test('test/conformance/postgres-accounts.test.ts', "describeAccountStore('PostgreSQL', open)"),
        test(
          'test/contract/several-hubs.test.ts',
          'run a task that one of them accepts on an agent of another',
        ),
      ],
    },
    {
      begins: 'A hub does not move from',
      heldBy: [
        test(LOST_WORK, 'is recognized when it is empty'),
        test(
          'test/contract/configured-users.test.ts',
          'that is listed with another password has to log in again',
        ),
      ],
    },
    { begins: 'As a superuser of the server,', heldBy: PROMISES_NOTHING },
    { begins: 'Tell the hub its address,', heldBy: PROMISES_NOTHING },
    {
      begins: 'The password may also be',
      heldBy: [
        test(PAGE, 'has the address of its database from the environment'),
        test(PAGE, 'without its server is refused within seconds, and the password is never shown'),
        test(FAULTS, 'names a wrong password, and never prints it'),
        test(OPENING, 'takes the password of its user from a file'),
        test(FAULTS, 'names a certificate that is not trusted, or of another name'),
      ],
    },
    {
      begins: 'says whether a hub can work',
      heldBy: [
        test(CHECK, 'finds nothing wrong with a new one, nor with a migrated one'),
        test(PAGE, 'is checked, started, killed and started again, and still has its tasks'),
      ],
    },
    {
      begins: '| connection | a server that',
      heldBy: [
        test(CHECK, 'ends with the connection when there is none'),
        test(FAULTS, 'names a wrong password, and never prints it'),
        test(FAULTS, 'names a database that does not exist'),
        test(FAULTS, 'names a server without TLS that was asked for'),
      ],
    },
    {
      begins: '| version, encoding | a server',
      heldBy: [TOO_OLD, test(CHECK, 'finds an encoding that cannot hold every text')],
    },
    {
      begins: '| writing, isolation | a',
      heldBy: [
        STANDBY,
        test(CHECK, "['default_transaction_read_only = on', 'writing', 'FAULT', 'nothing can be written']"),
        test(CHECK, "default_transaction_isolation = 'serializable'"),
      ],
    },
    {
      begins: '| durability, disk | `synchronous_commit`,',
      heldBy: [
        test(CHECK, "'synchronous_commit = off',"),
        test(CHECK, 'finds settings of the server by which a power failure destroys it'),
      ],
    },
    {
      begins: '| connections, idle connections',
      heldBy: [
        test(CHECK, 'finds missing rights, and a limit of connections'),
        test(CHECK, "[\"idle_session_timeout = '10min'\", 'idle connections', 'WARNING'"),
      ],
    },
    {
      begins: '| tables | missing tables',
      heldBy: [
        test(CHECK, 'finds missing rights, and a limit of connections'),
        test(CHECK, 'finds a database of a newer hub'),
        test(UPGRADE, 'is checked and made by commands of each version, beside hubs that run'),
      ],
    },
    {
      begins: '| notifications | a pooler',
      heldBy: [test(CHECK, 'finds a pooler that loses notifications')],
    },
    {
      begins: '| clock | a difference of',
      heldBy: [
        test(CHECK, 'says of clocks that differ by %i ms: %s'),
        test(CHECK, 'finds clocks that differ by %i ms'),
      ],
    },
    {
      begins: '| confirmed work | an older',
      heldBy: [test(LOST_WORK, 'is refused with what is missing, until the loss is accepted')],
    },
    {
      begins: 'The start of the hub makes',
      heldBy: [
        test(PAGE, 'is checked, started, killed and started again, and still has its tasks'),
        TOO_OLD,
        test(CHECK, 'finds an encoding that cannot hold every text'),
        REFUSED_BY_SETTING,
      ],
    },
    {
      begins: 'The owner of the database',
      heldBy: [
        test(PAGE, 'is checked, started, killed and started again, and still has its tasks'),
        test(OPENING, 'can be migrated by a command before the first start, once'),
        test(UPGRADE, 'is checked and made by commands of each version, beside hubs that run'),
      ],
    },
    {
      begins: "and give the hub's role `SELECT,",
      heldBy: [
        test(OPENING, 'works with the rights that the page names'),
        test(
          'test/conformance/postgres-migrations.test.ts',
          'need no right to create tables where nothing is to be done',
        ),
      ],
    },
    {
      begins: 'The tables are in the schema',
      heldBy: [test(OPENING, 'on tables of another role in the first schema of its path')],
    },
    {
      begins: 'A hub opens up to 10 connections',
      heldBy: [
        test(
          OPENING,
          'opens as many connections as the page says, under the name of its host, and commands open two',
        ),
        TOO_LONG,
        test(
          'test/conformance/postgres-plans.test.ts',
          'the settings of server and role for planning do not matter',
        ),
        test(LISTS, 'are read two at a time, each with 64 MiB of memory for a step'),
      ],
    },
    { begins: 'The hub needs no pooler,', heldBy: [test(CHECK, 'finds a pooler that loses notifications')] },
    {
      begins: '**The lock** is an advisory',
      heldBy: [
        test(LOCK, 'is shared by hubs, and refused to whoever must be alone'),
        test(LOST_WORK, 'is not accepted while a hub runs, nor changed when nothing is missing'),
        test(LOCK, 'ends the hub that lost it to another one while it was cut off'),
        test(LOCK, 'is that of a connection whose loss the server notices within half a minute'),
      ],
    },
    { begins: '`workbench-hub backup` and', heldBy: [SECOND_HUB_AND_BACKUPS] },
    { begins: '1. the database, with `pg_dump`,', heldBy: PROMISES_NOTHING },
    { begins: '2. the files of `dataDir`:', heldBy: [LARGE_BLOBS] },
    {
      begins: 'The database has the keys of the hub',
      heldBy: [
        test(SEALED, 'are sealed in it with one hub too, and shared by those that have the key'),
        test(SEALED, 'of an earlier version stay in clear until there is a key'),
      ],
    },
    {
      begins: 'A blob is stored before a',
      heldBy: [
        test('test/conformance/blob-disk.test.ts', 'is content, name, answer for a blob that is %s'),
        test('test/contract/output-storage.test.ts', 'must have been uploaded'),
        invariant('results are whole'),
      ],
    },
    {
      begins: 'To restore, stop the hub,',
      heldBy: [
        test(LOST_WORK, 'is refused with what is missing, until the loss is accepted'),
        test(
          LOST_WORK,
          'lets clients begin anew at any hub, whichever starts first once the loss is accepted',
        ),
        test(
          'test/contract/task-events.test.ts',
          'begins anew after a restore, in which numbers are used again',
        ),
        test('test/engine/joining.test.ts', 'is told to cancel attempts that no longer count'),
        test(LOST_WORK, 'is recognized when it is empty'),
        test(LANES, 'end when the database has lost what was confirmed'),
      ],
    },
    { begins: 'A 201 means that the server', heldBy: [FAILS_OVER, invariant('nothing is lost')] },
    {
      begins: '- **Synchronous standby**',
      heldBy: [
        FAILS_OVER,
        test(FAILOVER, 'tells nothing that a restarted server shows before its standby has it'),
        test('test/chaos/chaos.test.ts', 'it does so at three hubs, whose database fails over'),
      ],
    },
    {
      begins: '- **Asynchronous standby:**',
      heldBy: [
        test(LANES, 'end when the database has lost what was confirmed'),
        test(
          LANES,
          'end with the next batch of any lane when the database has lost what another had confirmed',
        ),
        test(LOST_WORK, 'is refused with what is missing, until the loss is accepted'),
        test('test/contract/stored-inputs.test.ts', 'whose large file is gone, as after a restore, is a 500'),
        LOST_CLAIMS,
      ],
    },
    { begins: 'With `synchronous_commit', heldBy: [REFUSED_BY_SETTING] },
    { begins: 'Put an address into `store`', heldBy: [STANDBY] },
    {
      begins: 'Connections are opened again',
      heldBy: [
        test(FAULTS, 'was killed, and started again, works with the same pool'),
        test(LANES, 'hold calls while the database is out of reach, refuse them after a while, and go on'),
        test(
          PAGE,
          'says in its health that the server is away, refuses what is new, and goes on with every task',
        ),
        test(LOST_RESPONSES, 'performs each transition once (seed %d)'),
        test('agent/inputs-and-results.test.ts', 'results wait in the spool while the hub is away'),
        invariant('acknowledged means kept'),
      ],
    },
    {
      begins: 'Changes of users, sessions,',
      heldBy: [
        test(LOST_ACCOUNTS, 'change once, and say so, when each is cut %s'),
        test(LOST_ACCOUNTS, 'change once beside each other under cuts by chance (seed %d)'),
        test(LOST_ACCOUNTS, 'with the words that the outcome of a commit is not known'),
        test(LOST_ACCOUNTS, 'with the words that nothing was changed before a commit, and by a read'),
      ],
    },
    {
      begins: 'A server that crashes may',
      heldBy: [
        LOST_CLAIMS,
        test(LANES, 'end with the next batch of any lane when the server has lost a claim'),
        test(LANES, 'so that the next start takes the tasks from the rows'),
        test('test/engine/joining.test.ts', 'keeps an attempt whose claim the hub lost in a power failure'),
        test(
          'test/repository/systemd-units.test.ts',
          'signals its main process only, and restarts it after a crash',
        ),
      ],
    },
    {
      begins: 'A hub that is stopped while the database is away',
      heldBy: [
        test(LANES, 'give up what they do not know when the hub stops and the database stays away'),
        test(
          'test/scenarios/several-hubs-and-their-database.test.ts',
          'stop in order without the database, also while they do not know whether a write took place',
        ),
      ],
    },
    {
      begins: 'If another hub with a copy',
      heldBy: [
        test(
          'test/conformance/postgres-cluster-hubs.test.ts',
          'are taken over from a start that was killed, which ends if it comes back',
        ),
        test(LANES, 'belong to the latest start of the hub: what is left of a former one changes nothing'),
      ],
    },
    {
      begins: '- Lists with text filters',
      heldBy: [TOO_LONG, test(LISTS, 'are the same as a comparison of single tasks')],
    },
    { begins: '- Nothing moves tasks or', heldBy: PROMISES_NOTHING },
  ],
};

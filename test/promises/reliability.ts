import { type Holder, invariant, type PagePromises, PROMISES_NOTHING, test } from './promises.js';

/** A defect that the simulation finds, in the list from which its test takes its title, with the invariant that it violates. */
const defect = (file: string, name: string, violated: Holder): readonly Holder[] => [
  test(`test/simulation/breakages/${file}.ts`, `name: '${name}'`),
  test('test/simulation/breakages.test.ts', 'the simulation finds that'),
  violated,
];

export const RELIABILITY: PagePromises = {
  page: 'packages/docs/reliability.md',
  blocks: [
    {
      begins: '**A task that was accepted',
      heldBy: [
        invariant('nothing is lost'),
        invariant('none ends twice'),
        invariant('everything ends'),
        test(
          'test/chaos/chaos.test.ts',
          'every task that was accepted with 201 ends once while random faults happen',
        ),
        test('test/scenarios/killed-and-stalled.test.ts', 'a stall longer than agents.unreachableAfter'),
      ],
    },
    {
      begins: '- *Durable before acknowledged.*',
      heldBy: [
        test(
          'hub/store/sqlite/connection/group-commit.test.ts',
          'is confirmed after a sync that began after the write',
        ),
        invariant('nothing is lost'),
        invariant('acknowledged means kept'),
        invariant('an end stays'),
        test('hub/store/sqlite/store.test.ts', 'is not shown before it is synced'),
        test('hub/store/sqlite/store.test.ts', 'is synced before the hub continues'),
      ],
    },
    {
      begins: '- *Attempts are numbered.*',
      heldBy: [
        test('test/conformance/attempt-transitions-suite.ts', 'skips attempts that are not active'),
        test('test/engine/reports.test.ts', 'is dropped when it is %s'),
        test('test/engine/reports.test.ts', 'counts once: repeated, it is acknowledged without effect'),
        invariant('a result counts once'),
      ],
    },
    {
      begins: '- *Unreachable is not lost.*',
      heldBy: [
        invariant('unreachable is not lost'),
        test('test/engine/leases.test.ts', 'continues when it rejoins within its lease'),
        test('test/engine/leases.test.ts', 'delivers the reports of attempts that ended meanwhile'),
        test(
          'test/engine/leases.test.ts',
          'is lost when its lease ends: its tasks are requeued at their old place',
        ),
      ],
    },
    {
      begins: '- *Confirmed transactions',
      heldBy: [
        test(
          'test/scenarios/damaged-database.test.ts',
          'has lost the end of its log reports how much is missing',
        ),
        test('test/scenarios/damaged-database.test.ts', 'is an older copy reports that'),
      ],
    },
    {
      begins: '- *The spool.* An agent keeps',
      heldBy: [
        test('agent/disk/disk-spool.test.ts', 'has reports until they are acknowledged, also after a crash'),
        test('agent/disk/disk-spool.test.ts', 'keeps the blobs of a report until it is acknowledged'),
        test(
          'agent/inputs-and-results.test.ts',
          'results wait in the spool while the hub is away, over a restart of the agent',
        ),
      ],
    },
    {
      begins: '- *Host faults.* An agent',
      heldBy: [
        test(
          'agent/inputs-and-results.test.ts',
          'are returned when the host cannot keep its own %s, and a cooldown begins',
        ),
        test('agent/engine/instances.test.ts', 'no instance takes a task until the cooldown is over'),
        test(
          'test/engine/agent-exclusions.test.ts',
          'does not get it again while another one fits, which gets it when it is idle',
        ),
        test(
          'test/engine/agent-exclusions.test.ts',
          'is named with the reason in the explanation of why the task waits',
        ),
      ],
    },
    {
      begins: '- *Disks that fill while',
      heldBy: [
        test(
          'test/scenarios/full-disks.test.ts',
          'an agent returns a task that failed while its disk was full, and another agent runs it',
        ),
        test(
          'test/scenarios/full-disks.test.ts',
          'a job that fills every disk finally fails, with the reason, the host and its log',
        ),
        test('agent/core/disk-space.test.ts', '%s is full'),
        test('agent/core/disk-space.test.ts', '%s is not full'),
        test('agent/engine/jobs/disk-watch.test.ts', 'looks as often for many jobs as for one'),
        test('agent/engine/jobs/disk-watch.test.ts', 'has seen one that was full for a while'),
        test(
          'agent/disk/disk-workspace.test.ts',
          'the space for working directories and for temporary files is known',
        ),
        test(
          'test/scenarios/full-working-directory.test.ts',
          'a working directory tells whether its disk takes more',
        ),
        test(
          'agent/engine/jobs/task-log.test.ts',
          'that could not be written is kept at the end, if there is room by then',
        ),
        test('test/scenarios/full-spool.test.ts', 'frees its reserve for a log once'),
        test('test/scenarios/full-spool.test.ts', 'accepts reports'),
      ],
    },
    {
      begins: '- *Programs that die.* An',
      heldBy: [
        test(
          'test/simulation/killing-jobs.test.ts',
          'a good job behind seven that kill their program finishes',
        ),
        test(
          'agent/engine/supervisor.test.ts',
          'is tried with growing pauses, and given up after five failures in a row',
        ),
        test(
          'agent/engine/supervisor.test.ts',
          'is tried again by itself after ten minutes, and later after each further failure',
        ),
      ],
    },
    {
      begins: '- *Limits.* A task fails,',
      heldBy: [
        invariant('attempts within limits'),
        test(
          'test/engine/reports.test.ts',
          'has its task requeued up to maxAttempts attempts, and then failed with the reason',
        ),
        test(
          'test/engine/leases.test.ts',
          'fails a task that was lost as often as tasks.maxLosses says, with the reason',
        ),
        test(
          'hub/core/attempt-consequences.test.ts',
          'by a return for a host fault counts as a loss, and the message names the last one',
        ),
      ],
    },
    {
      begins: 'Hub and agents run their',
      heldBy: [
        test(
          'test/simulation/simulation.test.ts',
          'runs the same way for the same seed, with or without a trace',
        ),
        test('test/simulation/several-hubs.test.ts', 'runs the same way for the same seed'),
      ],
    },
    {
      begins: 'A seed that fails is printed',
      heldBy: [
        test(
          'test/simulation/simulation.test.ts',
          'names a seed that fails with the command that replays it',
        ),
        test('test/simulation/simulation.test.ts', 'holds every invariant, with'),
        test('test/simulation/several-hubs.test.ts', 'holds every invariant, with'),
        test('test/simulation/unseen-seeds.test.ts', 'holds every invariant with five drawn seeds'),
      ],
    },
    {
      begins: '**The store of a world**',
      heldBy: [
        test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names'),
        test('test/simulation/breakages/server.ts', 'a lost response is taken for a refusal'),
        test('test/conformance/sqlite.test.ts', "describeTaskStore('SQLite'"),
        test('test/conformance/postgres.test.ts', "describeTaskStore('PostgreSQL'"),
        test('test/conformance/random-histories.test.ts', 'has the same outcomes on SQLite and PostgreSQL'),
      ],
    },
    {
      begins: '**A world** has one to four',
      heldBy: [
        test('test/simulation/breakages/agents.ts', 'a new task of higher priority is put behind others'),
        test('test/simulation/breakages/attempts.ts', 'a cancel without its fence'),
        test('test/simulation/breakages/attempts.ts', 'a removal without its fence'),
        test(
          'test/simulation/breakages/recovery.ts',
          'a name in the input storage keeps its blob when it is overwritten',
        ),
        test(
          'test/simulation/breakages/agents.ts',
          'a task ends without naming its files in the output storage',
        ),
        test(
          'test/simulation/breakages/recovery.ts',
          'a resumed transfer skips a byte, and the digest is not checked',
        ),
        test('test/simulation/breakages/attempts.ts', 'a cancel is shown before it is durable'),
      ],
    },
    {
      begins: '| hub | killed, also during',
      heldBy: [test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names')],
    },
    {
      begins: '| its disk | full, failing,',
      heldBy: [test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names')],
    },
    {
      begins: '| database server and the',
      heldBy: [test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names')],
    },
    {
      begins: '| agents | killed, stopped',
      heldBy: [test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names')],
    },
    {
      begins: '| instances | crash, hang,',
      heldBy: [
        test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names'),
        test(
          'test/simulation/breakages/agents.ts',
          'a crash of a common process is blamed on each of its tasks',
        ),
        test('test/simulation/breakages/agents.ts', 'a stopping agent waits for its tasks forever'),
      ],
    },
    {
      begins: '| reports | sent again, up',
      heldBy: [
        test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names'),
        test('test/simulation/breakages/recovery.ts', 'a returned attempt is adopted again'),
      ],
    },
    {
      begins: '| network | a connection',
      heldBy: [
        test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names'),
        test('test/simulation/breakages/recovery.ts', 'a partial input is used as if it were complete'),
      ],
    },
    {
      begins: '| receivers of webhooks (in',
      heldBy: [
        test('test/simulation/breakages/webhooks.ts', 'a webhook is taken for delivered when it was sent'),
        test(
          'test/simulation/breakages/webhooks.ts',
          'a webhook that a killed hub was sending is not sent again',
        ),
      ],
    },
    {
      begins: '| clocks | of the hub and',
      heldBy: [
        test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names'),
        test('test/simulation/breakages/server.ts', 'a lease is counted by the wall clock'),
      ],
    },
    {
      begins: 'Killed programs start again',
      heldBy: [
        test('test/simulation/breakages/attempts.ts', 'a lease never ends'),
        test('test/simulation/breakages/recovery.ts', 'ended tasks are removed before their retention ends'),
        test('test/simulation/breakages/recovery.ts', 'sweeping stops at the first store failure'),
      ],
    },
    {
      begins: '**With several hubs** (`--hubs`)',
      heldBy: [
        test('test/simulation/several-hubs.test.ts', 'holds every invariant, with'),
        test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names'),
        test('test/simulation/several-hubs.test.ts', 'has the faults that the page names'),
        test('test/simulation/breakages/cluster.ts', 'a blob is removed that another hub holds'),
        test(
          'test/simulation/breakages/cluster.ts',
          'a hub that is cut off from the database keeps its agents',
        ),
        test('test/simulation/breakages/cluster.ts', 'a hub stores times of its own clock'),
      ],
    },
    {
      begins: '| hubs | halted for up to',
      heldBy: [
        test('test/simulation/several-hubs.test.ts', 'has the faults that the page names'),
        test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names'),
      ],
    },
    {
      begins: '| hub and database | a hub',
      heldBy: [
        test('test/simulation/several-hubs.test.ts', 'has the faults that the page names'),
        test(
          'test/simulation/breakages/cluster.ts',
          'an assignment that was lost on its way is not repeated',
        ),
      ],
    },
    {
      begins: '| agent and hub | an agent',
      heldBy: [test('test/simulation/several-hubs.test.ts', 'has the faults that the page names')],
    },
    {
      begins: '| a whole site | hubs, agents',
      heldBy: [test('test/simulation/several-hubs.test.ts', 'has the faults that the page names')],
    },
    {
      begins: '**After each step** the simulation',
      heldBy: [
        test('test/simulation/simulation.test.ts', 'holds every invariant, with'),
        test('test/simulation/several-hubs.test.ts', 'holds every invariant, with'),
      ],
    },
    { begins: '- No task that was accepted', heldBy: [invariant('nothing is lost')] },
    {
      begins: '- No task ends twice, and',
      heldBy: [invariant('none ends twice'), invariant('an end stays')],
    },
    {
      begins: '- A result counts once, and',
      heldBy: [invariant('a result counts once'), invariant('acknowledged means kept')],
    },
    {
      begins: '- Attempts are numbered without',
      heldBy: [
        invariant('attempts are numbered'),
        invariant('attempts are counted'),
        invariant('attempts within limits'),
      ],
    },
    {
      begins: '- No instance has two tasks,',
      heldBy: [
        invariant('one task an instance'),
        invariant('one task at a time'),
        invariant('one attempt at a time'),
      ],
    },
    { begins: '- No task is passed over:', heldBy: [invariant('none is passed over')] },
    {
      begins: '- No agent loses an attempt',
      heldBy: [invariant('unreachable is not lost'), invariant('what runs goes on')],
    },
    { begins: '- An attempt that ended without', heldBy: [invariant('what came to nothing begins no more')] },
    {
      begins: '- No instance idles for ten',
      heldBy: [
        invariant('no instance idles while a task that it may run waits'),
        invariant('a lease ends'),
        invariant('what is over its time goes'),
      ],
    },
    {
      begins: '- No task is claimed for',
      heldBy: [
        invariant('nothing begins on a drained agent'),
        test('test/simulation/breakages/agents.ts', 'a restarted hub forgets which agents are drained'),
      ],
    },
    {
      begins: '- A stopping agent begins',
      heldBy: [
        invariant('a stop begins nothing'),
        invariant('a stop lets tasks end'),
        invariant('a stop ends'),
        invariant('a stop leaves nothing'),
      ],
    },
    { begins: '- No task fails because a', heldBy: [invariant('a full disk is a fault of the host')] },
    {
      begins: '- No job gets a partial input,',
      heldBy: [invariant('inputs are whole'), invariant('a name stands for what it was given')],
    },
    { begins: '- No receiver of a webhook', heldBy: [invariant('an end stays')] },
    { begins: '- Nothing throws an uncaught', heldBy: [invariant('no defect')] },
    {
      begins: 'With several hubs they hold',
      heldBy: [
        invariant('none is passed over'),
        invariant('unreachable is not lost'),
        invariant('one hub schedules'),
        invariant('no instance idles while a task that it may run waits'),
        invariant('an assignment reaches its agent'),
        invariant('times are those of the database'),
        test('test/simulation/breakages/cluster.ts', 'a lease is counted through an outage'),
      ],
    },
    {
      begins: 'After a failover to an asynchronous',
      heldBy: [
        test('test/simulation/simulation.test.ts', 'meets every kind of fault that the page names'),
        invariant('everything ends'),
        invariant('a name stands for what it was given'),
      ],
    },
    {
      begins: '**When the faults are over**,',
      heldBy: [
        invariant('everything ends'),
        invariant('results are whole'),
        invariant('a result is that of its attempt'),
        invariant('the storage has what counts'),
        invariant('each end is told'),
        invariant('nothing is left on the disk of an agent'),
      ],
    },
    {
      begins: '**Jobs that kill every program**',
      heldBy: [
        test(
          'test/simulation/killing-jobs.test.ts',
          'a good job behind seven that kill their program finishes, although they drive every instance into a crash loop',
        ),
      ],
    },
    {
      begins: '`npm run simulate -- --sites` runs worlds',
      heldBy: [test('test/simulation/sites/sites.test.ts', 'hold, from seed %d on')],
    },
    {
      begins: '`npm run simulate -- --hosts` runs worlds',
      heldBy: [test('test/simulation/hosts/hosts.test.ts', 'hold, from seed %d on')],
    },
    {
      begins: 'Beside the simulation,',
      heldBy: [
        test('test/engine/hosts-killed-at-each-step.test.ts', '%s "%s" of a host that works'),
        test(
          'test/hosts/workload-manager-suite.ts',
          'gives a workload manager up that takes too long, and changes nothing',
        ),
      ],
    },
    {
      begins: '`npm run simulate -- --studies` runs worlds',
      heldBy: [test('test/simulation/studies/studies.test.ts', 'hold, %s')],
    },
    { begins: '`npm run simulate -- --from', heldBy: PROMISES_NOTHING },
    {
      begins: 'A search tries seeds that',
      heldBy: [
        test(
          'test/conformance/blob-removal.test.ts',
          'goes although the hub that began to remove it was killed meanwhile',
        ),
      ],
    },
    { begins: '| on a database server | from', heldBy: PROMISES_NOTHING },
    { begins: '| of several hubs | from', heldBy: PROMISES_NOTHING },
    { begins: '| of several hubs, since these', heldBy: PROMISES_NOTHING },
    { begins: '| on a database server, since that', heldBy: PROMISES_NOTHING },
    { begins: 'These are 20,250 worlds on', heldBy: PROMISES_NOTHING },
    { begins: 'The first 300 of those of several', heldBy: PROMISES_NOTHING },
    {
      begins: 'A test that cannot fail proves',
      heldBy: [
        test('test/simulation/breakages.test.ts', 'the simulation finds that'),
        test(
          'test/simulation/breakages.test.ts',
          'the page on reliability names every defect that is tried, with the seed that finds it',
        ),
      ],
    },
    {
      begins: '- 201 before the task is',
      heldBy: defect('durability', '201 before the task is durable', invariant('nothing is lost')),
    },
    {
      begins: '- a report is acknowledged',
      heldBy: defect(
        'durability',
        'a report is acknowledged before it is durable',
        invariant('acknowledged means kept'),
      ),
    },
    {
      begins: '- a large blob has its name',
      heldBy: defect(
        'durability',
        'a large blob has its name before it is synced',
        invariant('results are whole'),
      ),
    },
    {
      begins: '- the name of a large blob',
      heldBy: defect('durability', 'the name of a large blob is not synced', invariant('no defect')),
    },
    {
      begins: '- a blob is removed before',
      heldBy: defect(
        'durability',
        'a blob is removed before the loss of its last reference is durable',
        invariant('no defect'),
      ),
    },
    {
      begins: '- a blob is removed while',
      heldBy: defect(
        'durability',
        'a blob is removed while a task that needs it is being created',
        invariant('what nothing names goes'),
      ),
    },
    {
      begins: '- a blob without references',
      heldBy: defect(
        'durability',
        'a blob without references is never removed',
        invariant('what nothing names goes'),
      ),
    },
    {
      begins: '- a sync to disk is left',
      heldBy: defect('durability', 'a sync to disk is left out', invariant('nothing is lost')),
    },
    {
      begins: '- data of a killed hub is',
      heldBy: defect(
        'durability',
        'data of a killed hub is shown before it is synced',
        invariant('an end stays'),
      ),
    },
    {
      begins: '- a full disk is taken for',
      heldBy: defect('durability', 'a full disk is taken for success', invariant('nothing is lost')),
    },
    {
      begins: '- an end without its fence',
      heldBy: defect('attempts', 'an end without its fence', invariant('a result counts once')),
    },
    {
      begins: '- a cancel without its fence',
      heldBy: defect('attempts', 'a cancel without its fence', invariant('an end stays')),
    },
    {
      begins: '- a removal without its fence',
      heldBy: defect('attempts', 'a removal without its fence', invariant('nothing is lost')),
    },
    {
      begins: '- a claim does not increase',
      heldBy: defect(
        'attempts',
        'a claim does not increase the attempt number',
        invariant('attempts are numbered'),
      ),
    },
    {
      begins: '- requeuing resets the attempt',
      heldBy: defect('attempts', 'requeuing resets the attempt number', invariant('attempts are numbered')),
    },
    {
      begins: '- an attempt is adopted though',
      heldBy: defect(
        'attempts',
        'an attempt is adopted though a newer one has begun',
        invariant('attempts are numbered'),
      ),
    },
    {
      begins: '- no attempt that an agent',
      heldBy: defect('attempts', 'no attempt that an agent holds is adopted', invariant('what runs goes on')),
    },
    {
      begins: '- messages are lost and the',
      heldBy: defect(
        'attempts',
        'messages are lost and the connection stays open',
        invariant('everything ends'),
      ),
    },
    {
      begins: '- a cancel is shown before',
      heldBy: defect('attempts', 'a cancel is shown before it is durable', invariant('an end stays')),
    },
    {
      begins: '- a lease never ends (seed',
      heldBy: defect('attempts', 'a lease never ends', invariant('a lease ends')),
    },
    {
      begins: '- an unreachable agent is',
      heldBy: defect(
        'attempts',
        'an unreachable agent is treated as lost at once',
        invariant('unreachable is not lost'),
      ),
    },
    {
      begins: '- tasks that a rejoining',
      heldBy: defect(
        'attempts',
        'tasks that a rejoining agent lacks are not requeued',
        invariant('a lease ends'),
      ),
    },
    {
      begins: '- a starting hub does not',
      heldBy: defect(
        'agents',
        'a starting hub does not load the waiting tasks',
        invariant('none is passed over'),
      ),
    },
    {
      begins: '- the newest task is dispatched',
      heldBy: defect('agents', 'the newest task is dispatched first', invariant('none is passed over')),
    },
    {
      begins: '- a new task of higher priority',
      heldBy: defect(
        'agents',
        'a new task of higher priority is put behind others',
        invariant('none is passed over'),
      ),
    },
    {
      begins: '- a restarted hub forgets',
      heldBy: defect(
        'agents',
        'a restarted hub forgets which agents are drained',
        invariant('nothing begins on a drained agent'),
      ),
    },
    {
      begins: '- an instance is released',
      heldBy: defect(
        'agents',
        'an instance is released without a report',
        invariant('acknowledged means kept'),
      ),
    },
    {
      begins: '- the running attempts of',
      heldBy: defect(
        'agents',
        'the running attempts of an agent are ignored when it rejoins',
        invariant('unreachable is not lost'),
      ),
    },
    {
      begins: '- a blob is acknowledged',
      heldBy: defect('agents', 'a blob is acknowledged and not kept', invariant('what nothing names goes')),
    },
    {
      begins: '- a spooled report does not',
      heldBy: defect(
        'agents',
        'a spooled report does not survive a restart of the agent',
        invariant('unreachable is not lost'),
      ),
    },
    {
      begins: '- an agent joins without',
      heldBy: defect(
        'agents',
        'an agent joins without naming its running attempts',
        invariant('unreachable is not lost'),
      ),
    },
    {
      begins: '- a crash of a common process',
      heldBy: defect(
        'agents',
        'a crash of a common process is blamed on each of its tasks',
        invariant('a crash counts for its own task'),
      ),
    },
    {
      begins: '- a stopping agent returns',
      heldBy: defect(
        'agents',
        'a stopping agent returns its tasks too early',
        invariant('a stop lets tasks end'),
      ),
    },
    {
      begins: '- a stopping agent waits',
      heldBy: defect('agents', 'a stopping agent waits for its tasks forever', invariant('a stop ends')),
    },
    {
      begins: '- a task ends without naming',
      heldBy: defect(
        'agents',
        'a task ends without naming its files in the output storage',
        invariant('the storage has what counts'),
      ),
    },
    {
      begins: '- files of an attempt that',
      heldBy: defect(
        'wrappers',
        'files of an attempt that does not count are named in the output storage',
        invariant('a result is that of its attempt'),
      ),
    },
    {
      begins: '- a resumed transfer skips',
      heldBy: defect(
        'recovery',
        'a resumed transfer skips a byte, and the digest is not checked',
        invariant('everything ends'),
      ),
    },
    {
      begins: '- a partial input is used',
      heldBy: defect(
        'recovery',
        'a partial input is used as if it were complete',
        invariant('inputs are whole'),
      ),
    },
    {
      begins: '- a job fails because the',
      heldBy: defect(
        'recovery',
        'a job fails because the disk of its host is full',
        invariant('a full disk is a fault of the host'),
      ),
    },
    {
      begins: '- a store failure at the',
      heldBy: defect(
        'recovery',
        'a store failure at the end of a lease is not retried',
        invariant('a lease ends'),
      ),
    },
    {
      begins: '- a store failure during',
      heldBy: defect(
        'recovery',
        'a store failure during dispatch is not retried',
        invariant('no instance idles while a task that it may run waits'),
      ),
    },
    {
      begins: '- a returned attempt is adopted',
      heldBy: defect('recovery', 'a returned attempt is adopted again', invariant('attempts are numbered')),
    },
    {
      begins: '- ended tasks are removed',
      heldBy: defect(
        'recovery',
        'ended tasks are removed before their retention ends',
        invariant('nothing is lost'),
      ),
    },
    {
      begins: '- sweeping stops at the first',
      heldBy: defect(
        'recovery',
        'sweeping stops at the first store failure',
        invariant('what is over its time goes'),
      ),
    },
    {
      begins: '- inputs stay pinned in the',
      heldBy: defect(
        'recovery',
        'inputs stay pinned in the file cache after their jobs',
        invariant('nothing is left on the disk of an agent'),
      ),
    },
    {
      begins: '- a name in the input storage',
      heldBy: defect(
        'recovery',
        'a name in the input storage keeps its blob when it is overwritten',
        invariant('a name stands for what it was given'),
      ),
    },
    {
      begins: '- a webhook that a killed',
      heldBy: defect(
        'webhooks',
        'a webhook that a killed hub was sending is not sent again',
        invariant('each end is told'),
      ),
    },
    {
      begins: '- a webhook is taken for',
      heldBy: defect(
        'webhooks',
        'a webhook is taken for delivered when it was sent',
        invariant('each end is told'),
      ),
    },
    {
      begins: '- webhooks are lost with',
      heldBy: defect(
        'webhooks',
        'webhooks are lost with the removal of their task',
        invariant('each end is told'),
      ),
    },
    { begins: 'With the store on a database', heldBy: PROMISES_NOTHING },
    {
      begins: '- a batch is repeated without',
      heldBy: defect('server', 'a batch is repeated without its number', invariant('everything ends')),
    },
    {
      begins: '- a former start of the hub',
      heldBy: defect('server', 'a former start of the hub may still write', invariant('no defect')),
    },
    {
      begins: '- no batch waits for the',
      heldBy: defect(
        'server',
        'no batch waits for the disk of the server',
        invariant('what nothing names goes'),
      ),
    },
    {
      begins: '- a lost response is taken',
      heldBy: defect('server', 'a lost response is taken for a refusal', invariant('nothing is lost')),
    },
    {
      begins: '- a batch whose response',
      heldBy: defect(
        'server',
        'a batch whose response was lost is taken for one that changed nothing',
        invariant('what runs goes on'),
      ),
    },
    {
      begins: '- a batch that a restarted',
      heldBy: defect(
        'server',
        'a batch that a restarted server shows is told before its standby has it',
        invariant('nothing is lost'),
      ),
    },
    {
      begins: '- reads are answered by a',
      heldBy: defect(
        'server',
        'reads are answered by a standby that lags',
        invariant('no instance idles while a task that it may run waits'),
      ),
    },
    {
      begins: '- a claim is told before',
      heldBy: defect('server', 'a claim is told before it is committed', invariant('none is passed over')),
    },
    {
      begins: '- 201 before the batch is',
      heldBy: defect('server', '201 before the batch is committed', invariant('nothing is lost')),
    },
    {
      begins: '- a lease is counted by the',
      heldBy: defect('server', 'a lease is counted by the wall clock', invariant('unreachable is not lost')),
    },
    { begins: 'With several hubs:', heldBy: PROMISES_NOTHING },
    {
      begins: '- two hubs have the role',
      heldBy: defect('cluster', 'two hubs have the role of the scheduler', invariant('one hub schedules')),
    },
    {
      begins: '- claims of a former term',
      heldBy: defect(
        'cluster',
        'claims of a former term take place',
        invariant('a claim takes place in its term'),
      ),
    },
    {
      begins: '- a lease of a former term',
      heldBy: defect(
        'cluster',
        'a lease of a former term takes an attempt from its agent',
        invariant('a lapsed lease takes an attempt within its fence'),
      ),
    },
    {
      begins: '- a lease is counted through',
      heldBy: defect('cluster', 'a lease is counted through an outage', invariant('unreachable is not lost')),
    },
    {
      begins: '- a commit whose outcome is not known is taken for a failure',
      heldBy: defect(
        'cluster',
        'a commit whose outcome is not known is taken for a failure',
        invariant('what runs goes on'),
      ),
    },
    {
      begins: '- a commit whose outcome is not known is taken for a success',
      heldBy: defect(
        'cluster',
        'a commit whose outcome is not known is taken for a success',
        invariant('nothing is lost'),
      ),
    },
    {
      begins: '- an assignment that was',
      heldBy: defect(
        'cluster',
        'an assignment that was lost on its way is not repeated',
        invariant('an assignment reaches its agent'),
      ),
    },
    {
      begins: '- an end is told before it',
      heldBy: defect(
        'cluster',
        'an end is told before it is committed',
        invariant('acknowledged means kept'),
      ),
    },
    {
      begins: '- a hub that is cut off from',
      heldBy: defect(
        'cluster',
        'a hub that is cut off from the database keeps its agents',
        invariant('a hub that is cut off lets its agents go'),
      ),
    },
    {
      begins: '- a blob is removed that',
      heldBy: defect(
        'cluster',
        'a blob is removed that another hub holds',
        invariant('what nothing names goes'),
      ),
    },
    {
      begins: '- blobs stay for an hour',
      heldBy: defect(
        'cluster',
        'blobs stay for an hour while there are other hubs',
        invariant('what nothing names goes'),
      ),
    },
    {
      begins: '- a hub stores times of its',
      heldBy: defect(
        'cluster',
        'a hub stores times of its own clock',
        invariant('times are those of the database'),
      ),
    },
    {
      begins: '- A client that read a task',
      heldBy: [
        test('hub/store/sqlite/store.test.ts', 'is not shown before it is synced'),
        test('test/simulation/breakages/attempts.ts', 'a cancel is shown before it is durable'),
      ],
    },
    {
      begins: '- A hub that was killed between',
      heldBy: [
        test('hub/store/sqlite/store.test.ts', 'is synced before the hub continues'),
        test('test/simulation/breakages/durability.ts', 'data of a killed hub is shown before it is synced'),
      ],
    },
    {
      begins: '- With several hubs: an agent',
      heldBy: [
        test(
          'test/engine/several-hubs.test.ts',
          'is let go by a hub that cannot reach the store, and goes on with its attempt at another',
        ),
        test(
          'test/engine/several-hubs.test.ts',
          'keeps what it runs although the row of an earlier attempt is still there when the rows are read',
        ),
        test(
          'test/conformance/postgres-cluster-signals.test.ts',
          'of an assignment to an agent of a hub that seems to be gone are left to that hub',
        ),
        test(
          'hub/engine/agents/held-attempts.test.ts',
          'is not sent while the attempts of the agent are reconciled, which requeue its task',
        ),
        test(
          'test/engine/several-hubs.test.ts',
          'counts no lease that began in a term whose beginning failed',
        ),
        test(
          'test/contract/several-hubs.test.ts',
          'remove overwritten and deleted files within seconds, whichever of them got the request',
        ),
        test(
          'test/conformance/blob-removal.test.ts',
          'goes although the hub that began to remove it was killed meanwhile',
        ),
        test(
          'test/conformance/blob-removal.test.ts',
          'stays when it is used while the other is asked, and goes when it is not any more',
        ),
        test(
          'test/engine/several-hubs.test.ts',
          'gets at another hub, at once and before any other task, what was sent to its former connection',
        ),
        test(
          'test/engine/several-hubs.test.ts',
          'keeps an attempt that a scheduler gave out before it heard that the agent joined again',
        ),
      ],
    },
    {
      begins: '- On PostgreSQL, a request',
      heldBy: [
        test(
          'test/conformance/postgres-lanes.test.ts',
          'refuse reads as writes while the database is out of reach',
        ),
        test(
          'hub/store/postgres/lanes/lane.test.ts',
          'gives no call the outcome of another when it ends while the database hangs',
        ),
        test(
          'test/conformance/postgres-lanes.test.ts',
          'end with the next batch of any lane when the server has lost a claim, so that no task waits unknown',
        ),
        test(
          'test/engine/leases.test.ts',
          'keeps its attempts for a whole lease when it was back while the end of the former one failed',
        ),
      ],
    },
    {
      begins: 'All are fixed; each has a',
      heldBy: [
        invariant('an end stays'),
        test('test/simulation/breakages.test.ts', 'the simulation finds that'),
      ],
    },
    { begins: '`npm run mutate -- --sample 200', heldBy: PROMISES_NOTHING },
    {
      begins: 'The seed draws the places',
      heldBy: [
        test('test/mutation/mutants.test.ts', 'change operators, conditions, literals and calls: %s'),
        test('test/mutation/mutants.test.ts', 'change the conditions of statements of SQL'),
        test(
          'test/mutation/mutants.test.ts',
          'leave types, imports, logging, joined texts and chosen numbers alone: %s',
        ),
      ],
    },
    {
      begins: 'A recorded run, in which each',
      heldBy: [
        test('test/mutation/reach.test.ts', 'is recorded by a call in each function with statements'),
        test(
          'test/mutation/reach.test.ts',
          'gives for a place the tests that reach its function, first those that look at little else',
        ),
      ],
    },
    {
      begins: 'A hub, or several (`--hubs`),',
      heldBy: [
        test(
          'test/chaos/chaos.test.ts',
          'every task that was accepted with 201 ends once while random faults happen',
        ),
        test('test/chaos/chaos.test.ts', 'it does so at three hubs, whose database fails over'),
        test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn'),
      ],
    },
    {
      begins: '| hub, agents | killed (`kill',
      heldBy: [test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn')],
    },
    {
      begins: '| instances | killed; paused',
      heldBy: [test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn')],
    },
    {
      begins: '| connections of agents and',
      heldBy: [test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn')],
    },
    {
      begins: '| network | the link between',
      heldBy: [
        test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn'),
        test(
          'test/chaos/faults.test.ts',
          'the faults that a machine without namespaces does not allow are left out, and named',
        ),
      ],
    },
    {
      begins: '| disks of the hub and of',
      heldBy: [test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn')],
    },
    {
      begins: '| database server (`--store',
      heldBy: [test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn')],
    },
    {
      begins: '| several hubs (`--hubs 3`)',
      heldBy: [
        test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn'),
        test('test/chaos/faults.test.ts', 'the database fails over once in a run, to its standby'),
        test('test/chaos/chaos.test.ts', 'it does so at three hubs, whose database fails over'),
      ],
    },
    {
      begins: '| sign-on provider, whose',
      heldBy: [test('test/chaos/faults.test.ts', 'every kind of fault that the page shows is drawn')],
    },
    { begins: '`npm run chaos -- --slurm --tasks', heldBy: PROMISES_NOTHING },
    { begins: 'With `--tasks 2000 --ends 50', heldBy: PROMISES_NOTHING },
    {
      begins: 'Asked what is there is Slurm',
      heldBy: [
        test(
          'test/scenarios/hosts-on-slurm.test.ts',
          'runs every task, again only after a loss, while controller and hub are killed, and leaves no job',
        ),
      ],
    },
    {
      begins: 'Then all faults end, every',
      heldBy: [
        test(
          'test/chaos/chaos.test.ts',
          'every task that was accepted with 201 ends once while random faults happen',
        ),
        test('test/chaos/chaos.test.ts', 'it does so at three hubs, whose database fails over'),
        test('test/chaos/runs.test.ts', 'finds two runs of a task at the same time'),
        test(
          'test/chaos/runs.test.ts',
          'accepts runs at the same time when one was lost, or its claim was undone by a crash',
        ),
      ],
    },
    {
      begins: 'Disk and network faults need',
      heldBy: [
        test(
          'test/chaos/faults.test.ts',
          'the faults that a machine without namespaces does not allow are left out, and named',
        ),
        test(
          'test/chaos/chaos.test.ts',
          'every task that was accepted with 201 ends once while random faults happen',
        ),
      ],
    },
    { begins: '`npm run chaos -- --seconds 120 --seed 7`,', heldBy: PROMISES_NOTHING },
    { begins: '`npm run chaos -- --seconds 120 --seed 11', heldBy: PROMISES_NOTHING },
    {
      begins: 'Three hubs, on a server with',
      heldBy: [
        test(
          'agent/engine/jobs/blobs.test.ts',
          'is fetched again from a hub that cannot use its store, as long as that takes',
        ),
      ],
    },
    {
      begins: 'A soak run asks whether',
      heldBy: [
        test(
          'test/soak/process-gauge.test.ts',
          'finds the map, by the kind of its entries, and the descriptors',
        ),
        test('test/soak/growth.test.ts', 'grows when each round leaves something behind'),
      ],
    },
    {
      begins: 'Hubs, agents and faults are those',
      heldBy: [
        test(
          'test/soak/soak.test.ts',
          'every interface works, faults strike, all that users have made is removed',
        ),
        test('test/chaos/faults.test.ts', 'kinds strike in turns when that is asked'),
      ],
    },
    {
      begins: '| memory of each hub and agent',
      heldBy: [
        test('test/soak/process-gauge.test.ts', 'finds the memory that a process leaks outside of maps'),
        test(
          'test/soak/soak.test.ts',
          'every interface works, faults strike, all that users have made is removed',
        ),
      ],
    },
    {
      begins: '| entries of all maps and sets',
      heldBy: [
        test(
          'test/soak/process-gauge.test.ts',
          'finds the map, by the kind of its entries, and the descriptors',
        ),
        test('test/soak/process-gauge.test.ts', 'counts the maps of the threads of a process as well'),
      ],
    },
    {
      begins: '| descriptors and threads of',
      heldBy: [
        test(
          'test/soak/process-gauge.test.ts',
          'finds the map, by the kind of its entries, and the descriptors',
        ),
      ],
    },
    {
      begins: '| rows of each table, connections',
      heldBy: [
        test(
          'test/soak/soak.test.ts',
          'every interface works, faults strike, all that users have made is removed',
        ),
      ],
    },
    {
      begins: '| files in the data folders, and',
      heldBy: [
        test(
          'test/soak/soak.test.ts',
          'every interface works, faults strike, all that users have made is removed',
        ),
      ],
    },
    {
      begins: '| programs of instances, scripts',
      heldBy: [
        test(
          'test/soak/soak.test.ts',
          'every interface works, faults strike, all that users have made is removed',
        ),
      ],
    },
    {
      begins: 'The inspector is asked by',
      heldBy: [
        test(
          'test/soak/process-gauge.test.ts',
          'finds the map, by the kind of its entries, and the descriptors',
        ),
      ],
    },
    {
      begins: 'A count grows when its median',
      heldBy: [
        test('test/soak/growth.test.ts', 'grows when each round leaves something behind'),
        test('test/soak/growth.test.ts', 'is constant when a cache has filled'),
        test('test/soak/growth.test.ts', 'is judged in each of its lives'),
        test('test/soak/growth.test.ts', 'is not judged when its lives are too short'),
      ],
    },
    {
      begins: 'Some rows are kept on purpose',
      heldBy: [test('test/soak/measurements.test.ts', 'may have rows up to its limit, and no more')],
    },
    {
      begins: 'Continuous integration runs half',
      heldBy: [
        test(
          'test/soak/soak.test.ts',
          'every interface works, faults strike, all that users have made is removed',
        ),
        test('test/soak/process-gauge.test.ts', 'finds no growth in a process that keeps nothing'),
      ],
    },
    {
      begins: 'It found that verified access',
      heldBy: [
        test('hub/security/access-tokens.test.ts', 'tokens that have expired are forgotten'),
        test(
          'hub/engine/accounts/refresh-rate.test.ts',
          'remembers a session only while its refreshes count',
        ),
      ],
    },
    { begins: 'An hour of each, both', heldBy: PROMISES_NOTHING },
    { begins: '| hub: resident memory', heldBy: PROMISES_NOTHING },
    { begins: '| hub: heap', heldBy: PROMISES_NOTHING },
    { begins: '| hub: memory outside', heldBy: PROMISES_NOTHING },
    { begins: '| hub: descriptors', heldBy: PROMISES_NOTHING },
    { begins: '| hub: entries of maps', heldBy: PROMISES_NOTHING },
    { begins: '| hub: files', heldBy: PROMISES_NOTHING },
    { begins: '| agent: resident memory', heldBy: PROMISES_NOTHING },
    { begins: '| agent: heap', heldBy: PROMISES_NOTHING },
    { begins: '| agent: entries of maps', heldBy: PROMISES_NOTHING },
    { begins: '| connections to the database | –', heldBy: PROMISES_NOTHING },
    { begins: '| overdue outputs', heldBy: PROMISES_NOTHING },
    { begins: 'Earlier runs reported counts', heldBy: PROMISES_NOTHING },
    {
      begins: '| the hub was killed, or',
      heldBy: [
        test(
          'test/scenarios/damaged-database.test.ts',
          'was being written when it was killed has every task accepted with 201',
        ),
      ],
    },
    {
      begins: '| the end of the log, the',
      heldBy: [
        test(
          'test/scenarios/damaged-database.test.ts',
          'has lost the end of its log reports how much is missing, and starts without it only on request',
        ),
        test('test/scenarios/damaged-database.test.ts', 'has lost hub.sqlite%s reports that'),
        test('test/scenarios/damaged-database.test.ts', 'is an older copy reports that'),
      ],
    },
    {
      begins: '| the file is truncated,',
      heldBy: [
        test('test/scenarios/damaged-database.test.ts', 'is %s reports that'),
        test(
          'hub/store/sqlite/upkeep/integrity-check.test.ts',
          'damage within a database of up to 64 MiB is found at the start',
        ),
        test(
          'hub/store/sqlite/upkeep/integrity-check.test.ts',
          'a larger database is not read as a whole at the start, but by doctor',
        ),
      ],
    },
    {
      begins: 'Admission control refuses',
      heldBy: [
        test(
          'test/scenarios/overload.test.ts',
          'a hub with 50 times its permitted load sheds the rest within its memory, and recovers at once',
        ),
        test('hub/http/requests/admission.test.ts', 'limits the bytes of all bodies, with Retry-After'),
        test(
          'test/scenarios/unread-responses.test.ts',
          'unread responses use limits.answersInMemory at most',
        ),
      ],
    },
    {
      begins: '- `limits.requests`: requests',
      heldBy: [
        test(
          'hub/http/requests/admission.test.ts',
          'limits requests in processing; those suspended or released do not count',
        ),
      ],
    },
    {
      begins: '- `limits.openRequests`:',
      heldBy: [
        test('hub/http/requests/admission.test.ts', 'limits open requests, including suspended ones'),
        test('test/contract/overload.test.ts', 'requests beyond limits.openRequests get 503 and Retry-After'),
        test(
          'test/contract/fair-shares.test.ts',
          'logins without a body hold up neither those who are logged in nor other addresses',
        ),
      ],
    },
    {
      begins: '- `limits.bodiesInMemory`:',
      heldBy: [
        test(
          'test/contract/overload.test.ts',
          'bodies in memory stay within limits.bodiesInMemory, however slowly they arrive',
        ),
      ],
    },
    {
      begins: '- `limits.answersInMemory`:',
      heldBy: [
        test(
          'hub/http/wire/response-memory.test.ts',
          'holds the announced memory until it is sent, and then that of unread bytes',
        ),
        test('hub/http/wire/response-memory.test.ts', 'refuses at the limit, with Retry-After'),
        test(
          'test/scenarios/unread-responses.test.ts',
          'unread responses use limits.answersInMemory at most',
        ),
      ],
    },
    {
      begins: 'With security on, a user',
      heldBy: [
        test(
          'hub/http/requests/admission.test.ts',
          'leaves each user room beside one who takes all that he gets',
        ),
        test('hub/http/requests/admission.test.ts', 'shares the memory for bodies by user'),
        test(
          'hub/http/wire/response-memory.test.ts',
          'leaves each user room beside one who takes all that he gets',
        ),
        test(
          'hub/http/requests/admission.test.ts',
          'gives a quarter to senders that are not known, by address',
        ),
      ],
    },
    {
      begins: 'The requests of one connection',
      heldBy: [
        test('hub/http/wire/server/web-server.test.ts', 'are processed one after the other, in order'),
        test(
          'hub/http/wire/server/web-server.test.ts',
          'begin only when the responses before them have left',
        ),
      ],
    },
    {
      begins: '`/livez`, `/readyz`, everything',
      heldBy: [
        test('test/contract/overload.test.ts', 'while probes, administration and agents continue'),
        test(
          'hub/http/wire/server/web-server.test.ts',
          'that sends its body a byte at a time is refused with 408, and its connection ends',
        ),
        test('hub/http/wire/server/web-server.test.ts', 'that reads nothing of its response is cut off'),
      ],
    },
    {
      begins: 'An agent keeps the beginning',
      heldBy: [
        test(
          'agent/engine/jobs/task-log.test.ts',
          'has its beginning, its end, and a line about what is between, when it is long',
        ),
        test(
          'agent/engine/jobs/task-log.test.ts',
          'are not sent while the hub is away or the link is full, and then only the last part',
        ),
        test('hub/agent-link/flood-guard.test.ts', 'allows an agent 4,000 messages and 64 MiB a second'),
        test(
          'test/contract/overload.test.ts',
          'an agent that floods the hub is disconnected, with the reason in both logs',
        ),
      ],
    },
    {
      begins: 'None does within 50 years,',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'comes from a sequence that is left out, or ends before its column',
        ),
      ],
    },
    {
      begins: '| `task_seq`, `task.seq`,',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'comes from a sequence that is left out, or ends before its column',
        ),
      ],
    },
    {
      begins: '| `requirement.id`, `study.seq`, `invalidation.seq`, `allocation.seq` | 2<sup>53</sup>',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'comes from a sequence that is left out, or ends before its column',
        ),
      ],
    },
    {
      begins: '| `task_change.first`, `lane.changes`,',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `task_change.transaction`,',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `lane.batch`, `lane.logged`,',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `lane.id`: five for each',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'comes from a sequence that is left out, or ends before its column',
        ),
        test(
          'test/conformance/postgres-lanes.test.ts',
          'get their ids once, of which a start needs none, and more than those of 16 bits',
        ),
      ],
    },
    {
      begins: '| `webhook_delivery.id`:',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'comes from a sequence that is left out, or ends before its column',
        ),
      ],
    },
    {
      begins: '| `study.told_count`, `study.resume_count`',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'comes from a sequence that is left out, or ends before its column',
        ),
      ],
    },
    {
      begins: '| `dropped_content.id`: a',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'comes from a sequence that is left out, or ends before its column',
        ),
      ],
    },
    {
      begins: '| `task_count.tasks`, and',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `task.attempt`, `former_attempt.attempt`,',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `agent.epoch`, `agent_instance.epoch`,',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `scheduler_term.term` |',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `agent_credential_version.version`',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `signal_text.number`: of',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `hub.generation`, `schema_migration.generation`:',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| names of full log and audit',
      heldBy: [
        test(
          'test/conformance/numbers-that-run-out.test.ts',
          'of the table runs out within 50 years, nor earlier than it says',
        ),
        test('shared/runtime/log-file.test.ts', 'has numbers of up to 15 digits, in their order'),
      ],
    },
    {
      begins: '| `task.kind`, `task_count.kind`,',
      heldBy: [
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `task_file.encrypted`,',
      heldBy: [
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `rollout_member.place` |',
      heldBy: [
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `task.crashes`, `task.losses`',
      heldBy: [
        invariant('attempts within limits'),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `task_duration.class` |',
      heldBy: [
        test('hub/core/durations.test.ts', 'of %d ms is %i'),
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `task_file.position`, `task_stored_file.position`',
      heldBy: [
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
      ],
    },
    {
      begins: '| `study.point_count`, `study.begun_count`,',
      heldBy: [
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
        test('test/conformance/studies-suite.ts', 'never begin beyond the number of points'),
      ],
    },
    {
      begins: '| `webhook_delivery.tries`',
      heldBy: [
        test('test/conformance/numbers-that-run-out.test.ts', 'of the store on SQLite is left out'),
        test('test/conformance/numbers-that-run-out.test.ts', 'is left out'),
        test('test/engine/webhooks.test.ts', 'is given up when its time is over'),
        test(
          'hub/core/webhook-schedule.test.ts',
          'tries again after growing delays, at last every four hours',
        ),
      ],
    },
    {
      begins: 'The names of hubs, histories,',
      heldBy: [
        test(
          'test/conformance/postgres-change-cursors.test.ts',
          'has the same length for any number of hubs, each of which continues at it',
        ),
        test('test/conformance/postgres-change-cursors.test.ts', 'is at most 180 characters long'),
        test(
          'test/conformance/postgres-lost-work.test.ts',
          'is not missed by a hub that was away for so long that its lanes were removed',
        ),
      ],
    },
    {
      begins: '- That scripts run once.',
      heldBy: [
        test(
          'test/engine/leases.test.ts',
          'is lost when its lease ends: its tasks are requeued at their old place',
        ),
        test(
          'test/engine/leases.test.ts',
          'fails a task that was lost as often as tasks.maxLosses says, with the reason',
        ),
      ],
    },
    {
      begins: '- That a job which fails',
      heldBy: [
        test(
          'test/engine/agent-exclusions.test.ts',
          'does not get it again while another one fits, which gets it when it is idle',
        ),
        test(
          'agent/engine/jobs/jobs.test.ts',
          'an attempt that met a host fault leaves nothing in the spool',
        ),
      ],
    },
    {
      begins: '- That lists of tasks show',
      heldBy: [test('hub/store/sqlite/store.test.ts', 'is not shown before it is synced')],
    },
    { begins: '- Data on a disk that loses', heldBy: PROMISES_NOTHING },
    { begins: '- Results for longer than', heldBy: PROMISES_NOTHING },
    {
      begins: '- That the queue moves fast',
      heldBy: [
        test(
          'agent/engine/supervisor.test.ts',
          'is tried with growing pauses, and given up after five failures in a row',
        ),
        test(
          'agent/engine/supervisor.test.ts',
          'is tried again by itself after ten minutes, and later after each further failure',
        ),
        test('agent/core/instance-states.test.ts', 'in the crash loop waits from ten minutes up to an hour'),
        test('test/repository/dashboards.test.ts', 'name only metrics of the hub, with what to do'),
      ],
    },
    { begins: '- That a hanging program', heldBy: PROMISES_NOTHING },
    {
      begins: "- That an agent's stop is",
      heldBy: [
        test('agent/agent.test.ts', 'gives back what still runs when drainTimeout is over'),
        test(
          'test/engine/leases.test.ts',
          'loses at once the attempts that it no longer runs when it rejoins',
        ),
      ],
    },
  ],
};

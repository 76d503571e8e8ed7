// npm run test:postgres: the tests of the REST interface, and the scenarios that exercise the store, with each hub on a PostgreSQL
// database. npm run test:cluster: tests of the REST interface, with three hubs on a database behind a load balancer in place of each
// hub. Arguments are passed to vitest; paths among them replace the suites: npm run test:postgres -- test/contract/quota.test.ts
import { spawnSync } from 'node:child_process';
import { prepare, root } from './prepare.mjs';

const SCENARIOS = [
  'agents-and-several-hubs',
  'failures',
  'followed-events',
  'killed-and-stalled',
  'main-job',
  'postgresql-page',
  'reload',
  'restarts-under-load',
  'storage',
  'two-hundred-jobs',
  'users-of-a-running-hub',
  'webhooks',
];
const REST = 'test/contract/';
// Tests of what hubs share: tasks, agents, instances, users, tokens, files and events. Other files of test/contract are about what is the same
// at any hub, such as documents, TLS and parsing, or about what each hub has for itself (test/not-by-several-hubs.ts).
const SHARED = [
  ...[
    'access-tokens',
    'agent-administration',
    'agent-credentials',
    'agent-link',
    'agent-update-states',
    'browser-sign-on',
    'bulk-changes',
  ],
  ...['configured-users', 'creating-batch-jobs', 'creating-simulate-work', 'deferred-responses', 'draining'],
  ...[
    'earlier-lists',
    'earlier-nodes',
    'earlier-tasks',
    'explain',
    'file-transfer',
    'hosts',
    'idempotency-keys',
  ],
  ...[
    'input-file-names',
    'input-storage',
    'instance-control',
    'instance-crashes',
    'large-results',
    'log-follow',
    'manifests',
  ],
  ...['log-parts', 'login-throttle', 'malformed-requests', 'nodes', 'output-storage', 'personal-tokens'],
  ...['prepare-shutdown', 'request-ids', 'results', 'roles', 'session-lifetime', 'sessions', 'statistics'],
  ...[
    'storage-references',
    'studies',
    'study-events',
    'study-webhooks',
    'storage-users',
    'stored-inputs',
    'task-details',
    'task-events',
    'task-lifecycle',
  ],
  ...['task-list', 'task-owners', 'upload-forms', 'waiting-message', 'webhooks'],
];
const filesIn = (folder, names) => names.map((name) => `${folder}${name}.test.ts`);
const isCluster = process.argv.includes('--cluster');
const SUITES = isCluster ? filesIn(REST, SHARED) : [REST, ...filesIn('test/scenarios/', SCENARIOS)];

try {
  await prepare();
  const given = process.argv.slice(2).filter((argument) => argument !== '--cluster');
  const suites = given.some((argument) => !argument.startsWith('-')) ? [] : SUITES;
  const { status } = spawnSync(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--config', 'test/vitest.config.ts', ...suites, ...given],
    {
      cwd: root,
      stdio: 'inherit',
      env: {
        ...process.env,
        PROGRAMS_ARE_BUNDLED: 'yes',
        STORE: 'postgres',
        ...(isCluster && { HUBS: '3' }),
      },
    },
  );
  if (status !== 0) process.exitCode = 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

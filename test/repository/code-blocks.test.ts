/** Every code block of README.md and the pages runs in a test, or is validated here. A block that nothing covers fails. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { loadAgentConfig } from '@workbench-hub/agent/config';
import { loadHubConfig } from '@workbench-hub/hub/config';
import {
  cancelParams,
  executeBatchJobParams,
  executeBatchJobResult,
  initializeParams,
  initializeResult,
  outputParams,
  simulateWorkParams,
} from '@workbench-hub/shared/instance-protocol/messages';
import { readAs } from '@workbench-hub/shared/instance-protocol/parse-message';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';
import { jsonSchemaCheck } from '../support/interface/openapi-check.js';
import type { OpenApiDocument } from '../support/interface/openapi-document.js';
import { type CodeBlock, codeBlocks, replaced } from '../support/pages/code-blocks.js';
import { runCommand } from '../support/programs/run-command.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Cover of a block. */
type Cover =
  /** A test that runs it, and names its page. */
  | { readonly by: string }
  /** It needs something that no test has; shell syntax and our own commands are checked nevertheless. */
  | { readonly unavailable: string }
  /** Output, or a picture in text. */
  | { readonly sample: string }
  /** A part of the configuration of a program, completed by `below` and `replace`. */
  | {
      readonly config: 'hub' | 'agent';
      readonly below?: string;
      readonly replace?: Readonly<Record<string, string>>;
    }
  /** JSON of a request or response of the REST interface. `part`: some of its fields only. */
  | { readonly request: string; readonly part?: true }
  /** `within`: the JSON is one item of the list in this field. */
  | { readonly response: string; readonly status?: number; readonly part?: true; readonly within?: string }
  | { readonly yaml: string };

const HOSTS = { by: 'test/scenarios/readme-hosts.test.ts' };
const README = { by: 'test/scenarios/readme.test.ts' };
const QUICKSTART = { by: 'test/scenarios/quickstart.test.ts' };
const UPDATES = { by: 'test/scenarios/agent-updates.test.ts' };
const COMMANDS = { by: 'test/scenarios/page-commands.test.ts' };
const STORAGE = { by: 'test/scenarios/storage.test.ts' };
const PROTOCOL = { by: 'test/conformance/instance-program.test.ts' };
const PACKAGES = { by: 'test/scenarios/packages.test.ts' };
const PYTHON = { by: 'test/scenarios/python-client.test.ts' };
const CLIENTS = { by: 'test/scenarios/clients-page.test.ts' };
const RECIPES = { by: 'test/scenarios/recipes.test.ts' };
const WEBHOOKS = { by: 'test/scenarios/webhooks.test.ts' };
const POSTGRESQL = { by: 'test/scenarios/postgresql-page.test.ts' };
const DIAGRAMS = { by: 'test/repository/state-machines-page.test.ts' };
const CREATE_SIMULATE_WORK = 'post /api/2.0/workbench/task/simulate-work/create';
const CREATE_BATCH_JOB = 'post /api/2.0/workbench/task/execute-batch-job/create';
const SIMULATE_WORK_RESULT = 'get /api/2.0/workbench/task/simulate-work/{id}/result';
const BATCH_JOB_RESULT = 'get /api/2.0/workbench/task/execute-batch-job/{id}/result';
const LOGIN = 'post /api/2.0/auth/login';

/** For each page: words that a block contains, and its cover. Messages of the instance protocol need none: all are checked. */
const COVERS: Readonly<Record<string, readonly (readonly [words: string, cover: Cover])[]>> = {
  'README.md': [
    ['npm run quickstart', QUICKSTART],
    ['npm test', { unavailable: 'this test is a part of it' }],
    ['cat > hub.yaml', README],
    ['npx wb run', README],
    ['cat > read-model.js', README],
    ['# hub.yaml, on the central server', HOSTS],
    ['npx workbench-hub user add anna', HOSTS],
    ['# agent.yaml', HOSTS],
    ['npx workbench-agent enroll', HOSTS],
    ['TOKEN=$(curl', HOSTS],
  ],
  'packages/docs/calculix.md': [
    ['id: ccx-1', { config: 'agent' }],
    ['# Runs a CalculiX model', PROTOCOL],
    ['"cantilever beam"', COMMANDS],
  ],
  'packages/docs/clients.md': [
    ['cat > pendulum.xml', CLIENTS],
    ['wb run --model', CLIENTS],
    ["from '@workbench-hub/client/node'", CLIENTS],
    ['from workbench_hub import Hub', CLIENTS],
    ['ID=$(curl', CLIENTS],
    ['$ wb submit --script calibrate.js', { by: 'test/scenarios/wb-commands.test.ts' }],
  ],
  'packages/docs/contract/10-errors-and-limits.md': [
    ['"error": "Conflict"', { response: 'delete /api/2.0/workbench/task/{id}/cancel', status: 409 }],
    ['inputScripts[0].content: must be', { sample: 'a message' }],
  ],
  'packages/docs/contract/12-additions.md': [['"filename": "ball.xml"', { request: CREATE_BATCH_JOB }]],
  'packages/docs/contract/2-tasks.md': [
    ['"name": "run 7"', { response: 'get /api/2.0/workbench/task/{id}' }],
    ['"status": "WAITING"', { response: CREATE_BATCH_JOB, status: 201 }],
    ['"name": "try it"', { request: CREATE_SIMULATE_WORK }],
  ],
  'packages/docs/contract/3-batch-jobs.md': [
    ['"name": "my first job"', { request: CREATE_BATCH_JOB }],
    ['"storageName"', { request: CREATE_BATCH_JOB, part: true }],
  ],
  'packages/docs/contract/4-results.md': [
    ['The task has finished on', { response: SIMULATE_WORK_RESULT }],
    ['"batchExecutionStatus": "OK"', { response: BATCH_JOB_RESULT }],
    ['2 fitting instances are busy', { response: BATCH_JOB_RESULT, part: true }],
  ],
  'packages/docs/contract/5-lists.md': [
    ['"totalElements": 0', { response: 'get /api/2.0/workbench/task/list' }],
    ['GET /api/2.0/workbench/task/list?', { sample: 'a request line' }],
  ],
  'packages/docs/contract/6-instances-and-agents.md': [
    ['"agentId": "sim-host-1"', { response: 'get /api/2.0/workbench/node/instance/{id}' }],
  ],
  'packages/docs/contract/8-security.md': [
    ['"username": "anna"', { request: LOGIN }],
    ['"accessToken"', { response: LOGIN }],
    ['Authorization: Bearer <accessToken>', { sample: 'a header' }],
  ],
  'packages/docs/contract/9-operations.md': [['"diskSpace"', { response: 'get /actuator/health' }]],
  'packages/docs/installing.md': [
    ['npm run package\n', PACKAGES],
    ['apt-get install ./workbench-hub', PACKAGES],
    [
      'runuser -u workbench-hub -- workbench-hub user add anna',
      { unavailable: 'the user workbench-hub exists where the package is installed' },
    ],
    ['systemctl enable', { unavailable: 'systemd' }],
    ['npm rebuild better-sqlite3', { unavailable: 'it would rebuild the add-on that this test uses' }],
    ['npm install --global', PACKAGES],
    ['scp dist-packages/', { unavailable: 'a host that SSH reaches' }],
    ['--sign ./sign.sh', { unavailable: 'a certificate' }],
    [
      'mkdir "C:',
      { unavailable: 'Windows; test/windows/service-on-windows.test.ts has these commands under Wine' },
    ],
    ['docker compose build', { unavailable: 'a container engine' }],
    ['FROM workbench-agent', { unavailable: 'a container engine' }],
    ['for host in', { unavailable: 'hosts that SSH reaches' }],
    ['ansible-playbook', { unavailable: 'Ansible, and hosts' }],
  ],
  'packages/docs/instance-protocol.md': [
    ['agent                                          program', { sample: 'a picture' }],
    ['"""An instance program in Python', PROTOCOL],
  ],
  'packages/docs/mujoco.md': [
    ['id: mujoco-1', { config: 'agent' }],
    ['--isolation, thread', { sample: 'one key of the block before' }],
  ],
  'packages/docs/operations.md': [
    ['workbench-hub doctor', COMMANDS],
    ['ok       configuration: valid', { sample: 'output of a program' }],
    ['workbench-agent doctor', COMMANDS],
    ['ok       sandbox of sim', { sample: 'output of a program' }],
    ['workbench-hub agent drain', COMMANDS],
    ['workbench-hub agent undrain', COMMANDS],
    ['workbench-hub backup', COMMANDS],
    ['workbench-hub restore', COMMANDS],
    ['"requestId":"build-4711"', COMMANDS],
    ['docker run', { unavailable: 'a container engine' }],
    ['log: { rotate', { config: 'hub' }],
    ['tracing:', { config: 'hub' }],
    ['token add anna', COMMANDS],
    ['"name": "prometheus"', COMMANDS],
    ['scrape_configs', { yaml: 'of Prometheus' }],
    ['rule_files', { yaml: 'of Prometheus' }],
  ],
  'packages/docs/performance.md': [
    ['apt-get install', { unavailable: 'it takes an hour, and other products' }],
    ['next:             SEARCH', { sample: 'a query plan' }],
  ],
  'packages/docs/python.md': [
    ['build_wheel.py', PYTHON],
    ['"m on", result.instance', PYTHON],
    ['study.rows():', PYTHON],
    ['hub.find_study(', PYTHON],
    ['asyncio.run(', PYTHON],
    ['number in range(50)', PYTHON],
    ['hub.explain(task)', PYTHON],
    ['hub.instances(', PYTHON],
    ['hub.events(', PYTHON],
    ['big.bin', PYTHON],
    ['workers=hub.map', PYTHON],
    ['study = optuna.create_study', PYTHON],
    ['vectorized=True', PYTHON],
    ['search = optuna.create_study', PYTHON],
    ['from skopt import', PYTHON],
    ['nightly = Hub(', PYTHON],
    ['"default": "site"', PYTHON],
  ],
  'packages/docs/recipes.md': [
    ['# simulate.sh', RECIPES],
    ['WB_TOKEN is a masked variable', { yaml: 'of GitLab' }],
    ['name="notebook"', RECIPES],
    ['result = hub.wait(task)', RECIPES],
    ['angles = [30, 40, 50]', RECIPES],
    ['# sweep.py', RECIPES],
    ['done > ids.txt', RECIPES],
    ['# nightly.sh', RECIPES],
    ['# nightly.service', RECIPES],
    ['# nightly.timer', RECIPES],
    ['# ends.py', RECIPES],
    ['# archive.sh', RECIPES],
    ['# check.sh', RECIPES],
  ],
  'packages/docs/reliability.md': [
    ['npm run simulate', { unavailable: 'it takes hours; test/simulation runs a part' }],
    ['seeds                ', { sample: 'output of a program' }],
    ['npm run chaos', { unavailable: 'it takes minutes; test/chaos runs a part' }],
    ['tasks answered with 201                      371', { sample: 'output of a program' }],
    ['tasks answered with 201                       73', { sample: 'output of a program' }],
    ['tasks answered with 201                               845', { sample: 'output of a program' }],
    ['npm run soak', { unavailable: 'it takes minutes; test/soak runs a part' }],
  ],
  'packages/docs/security.md': [
    ['# /etc/workbench-hub/hub.yaml', COMMANDS],
    ['--check-config', COMMANDS],
    ['$HUB/api/2.0/user', COMMANDS],
    ['user add nora', COMMANDS],
    ['passwordHash', { config: 'hub', replace: { '$scrypt$ln=15,r=8,p=3$…': 'HASH' } }],
    ['auth/refresh', COMMANDS],
    ['keys rotate', COMMANDS],
    ['rolesClaim: realm_access.roles', { config: 'hub' }],
    ['deviceLogin', { config: 'hub', below: 'security' }],
    ['browserLogin', { config: 'hub', below: 'security' }],
    ['grant_type=client_credentials', { unavailable: 'a provider; test/contract/oidc.test.ts has one' }],
    ['preferred_username', { config: 'hub', below: 'security' }],
    [
      '<tenant id>',
      {
        config: 'hub',
        below: 'security',
        replace: { '<tenant id>': 'a1', '<application (client) id of the hub>': 'b2' },
      },
    ],
    ['"nightly build"', COMMANDS],
    ['token add anna', COMMANDS],
    ['Bearer wbh_…', COMMANDS],
    ['agent enroll sim-host-1 --valid', COMMANDS],
    ['workbench-agent enroll', COMMANDS],
    ['agent revoke', COMMANDS],
    ["# the hub's certificate, then", { config: 'hub', replace: { '0.0.0.0': '127.0.0.1' } }],
    ['# by default the public authorities', { config: 'agent' }],
    ['CN=Workbench CA', COMMANDS],
    ['CN=sim-host-1', COMMANDS],
    ['# hub.yaml: server.tls', { yaml: 'of both programs' }],
    ['trustedProxies', { config: 'hub' }],
    ['# nginx', { unavailable: 'nginx' }],
    ['"outcome":"REFUSED"', { response: 'get /api/x/audit', part: true, within: 'entries' }],
    ['api/x/audit?limit=20', COMMANDS],
  ],
  'packages/docs/state-machines.md': [['stateDiagram-v2', DIAGRAMS]],
  'packages/docs/storage.md': [
    ['# 1. Upload the model', STORAGE],
    ['gearbox-7.wbpz', { request: CREATE_BATCH_JOB, part: true }],
    ['"filename": "mesh/gear.stl"', { request: CREATE_BATCH_JOB, part: true }],
    ['"storedFiles"', { response: BATCH_JOB_RESULT, part: true }],
    ['grep -i etag', STORAGE],
    ['UPLOADS=$', STORAGE],
  ],
  'packages/docs/studies.md': [
    ['wb study run', CLIENTS],
    ['hub.createStudy', CLIENTS],
  ],
  'packages/docs/file-places.md': [
    ['folder: /mnt/hub-files', { config: 'hub' }],
    ['bucket: hub-files', { config: 'hub' }],
    ['storage check', { unavailable: 'hub.yaml of this page names an object store' }],
    ['"Version": "2012-10-17"', { by: 'test/conformance/s3-faults.test.ts' }],
  ],
  'packages/docs/joined-hubs.md': [
    ['upstreams:', { config: 'hub' }],
    ['agent enroll berlin', { unavailable: 'a hub at headquarters' }],
    ['upstream enroll', { by: 'test/contract/joined-hubs-shown.test.ts' }],
  ],
  'packages/docs/hosts.md': [
    ['hosts:', { config: 'hub' }],
    ['hosts check', { by: 'test/scenarios/hosts-check.test.ts' }],
    ['$ wb hosts', { sample: 'output of a program' }],
  ],
  'packages/docs/load-balancer.md': [
    ['# hub.yaml', { config: 'hub' }],
    ['# agent.yaml', { config: 'agent' }],
  ],
  'packages/docs/several-hubs.md': [
    ['# hub.yaml, the same on each machine', { yaml: 'of a hub with a database server' }],
  ],
  'packages/docs/postgresql.md': [
    ['CREATE ROLE hub', POSTGRESQL],
    ['# hub.yaml', POSTGRESQL],
    ['store check', { unavailable: 'hub.yaml of this page names a server' }],
    ['store migrate', { unavailable: 'hub.yaml of this page names a server' }],
  ],
  'packages/docs/tour.md': [['sequenceDiagram', { sample: 'a picture' }]],
  'packages/docs/threat-model.md': [['sandbox: bubblewrap', { config: 'agent' }]],
  'packages/docs/upgrading.md': [
    ['drainTimeout: 20h', { config: 'agent' }],
    ['--out /srv/workbench-agents', UPDATES],
    ['updates: { folder', { config: 'hub' }],
    ['canaries: 2', { config: 'hub' }],
    ['wb agent update', UPDATES],
    ['wb agent rollout', COMMANDS],
    ['TimeoutStopSec=20h', { by: 'test/repository/systemd-units.test.ts' }],
    ['prepare-shutdown/change', COMMANDS],
  ],
  'packages/docs/workload-managers.md': [
    ['qsub -N', { unavailable: 'PBS' }],
    ['qstat -x', { unavailable: 'PBS' }],
    ['qselect -N', { unavailable: 'PBS' }],
    ['hosts:', { config: 'hub' }],
  ],
  'packages/docs/webhooks.md': [
    ['# hub.yaml', { config: 'hub' }],
    ['webhook secret', WEBHOOKS],
    ['wb submit', WEBHOOKS],
    ['"type": "task.ended"', { by: 'test/contract/webhooks.test.ts' }],
    ['"study.ended"', { by: 'test/contract/study-webhooks.test.ts' }],
    ['# receiver.py', WEBHOOKS],
    ['// receiver.mjs', WEBHOOKS],
  ],
};

const blocks = codeBlocks();
const isMessage = ({ page, language }: CodeBlock) =>
  page === 'packages/docs/instance-protocol.md' && language === 'json';
const rowsOf = ({ page, text }: CodeBlock) => (COVERS[page] ?? []).filter(([words]) => text.includes(words));
const covered = blocks
  .filter((block) => !isMessage(block))
  .map((block) => ({ block, where: whereIs(block), cover: rowsOf(block)[0]?.[1] }));

function whereIs({ page, line }: CodeBlock): string {
  return `${page}:${line}`;
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'code-blocks-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('the code blocks of the pages', () => {
  it('have one cover each', () => {
    const wrong = covered.filter(({ block }) => rowsOf(block).length !== 1);
    expect(wrong.map(({ block, where }) => `${where} has ${rowsOf(block).length} covers`)).toEqual([]);
  });

  it('are there for each cover', () => {
    const unused = Object.entries(COVERS).flatMap(([page, rows]) =>
      rows
        .filter(([words]) => !blocks.some((block) => block.page === page && block.text.includes(words)))
        .map(([words]) => `${page} has no block with ${words}`),
    );
    expect(unused).toEqual([]);
  });

  it('are run by tests that exist and name the page', () => {
    for (const { cover, where, block } of covered) {
      if (cover === undefined || !('by' in cover)) continue;
      expect(existsSync(join(ROOT, cover.by)), where).toBe(true);
      expect(readFileSync(join(ROOT, cover.by), 'utf8'), where).toContain(basename(block.page));
    }
  });

  const scripts = covered.filter(({ block }) => block.language === 'sh');

  it.each(scripts.map(({ where, block }) => [where, block.text]))('at %s are shell scripts', (_, text) => {
    execFileSync('bash', ['-n'], { input: text });
  });

  it.each(
    scripts
      .filter(({ cover }) => cover !== undefined && 'unavailable' in cover)
      .flatMap(({ where, block }) =>
        commandsIn(block.text).map(([script, args]) => ({ where, script, args })),
      ),
  )('at $where have the command "$args", which our programs know', async ({ script, args }) => {
    const { stderr } = await runCommand(script, args, { cwd: folder });
    expect(stderr).toContain('there is no such file');
  });

  it.each(
    covered.flatMap(({ where, block, cover }) =>
      cover && 'config' in cover ? [[where, block, cover] as const] : [],
    ),
  )('at %s are configurations', (_, block, cover) => {
    expect(faultsOf(block, cover)).toEqual([]);
  });

  it.each(
    covered.flatMap(({ where, block, cover }) => (cover && 'yaml' in cover ? [[where, block.text]] : [])),
  )('at %s are YAML', (_, text = '') => {
    for (const part of text.split(/^# \S+.*$/m).filter((one) => one.trim() !== ''))
      expect(parse(part)).toBeTypeOf('object');
  });
});

describe('the messages of the instance protocol', () => {
  it.each(blocks.filter(isMessage).map((block) => [whereIs(block), block.text]))(
    'at %s are valid',
    (_, text) => {
      for (const message of messagesIn(text)) expectValid(message);
    },
  );
});

describe('the JSON of the pages', () => {
  let hub: RunningHub;
  let document: OpenApiDocument;
  beforeAll(async () => {
    hub = await startHub();
    document = (await (await fetch(`${hub.address}/openapi.json`)).json()) as OpenApiDocument;
  });
  afterAll(() => hub.stop());

  it.each(
    covered.flatMap(({ where, block, cover }) =>
      cover && ('request' in cover || 'response' in cover) ? [[where, block.text, cover] as const] : [],
    ),
  )('at %s is as the OpenAPI document says', (_, text, cover) => {
    const [method = '', path = ''] = ('request' in cover ? cover.request : cover.response).split(' ');
    const pointer =
      'request' in cover
        ? ['paths', path, method, 'requestBody']
        : ['paths', path, method, 'responses', String(cover.status ?? 200)];
    const json: unknown = JSON.parse(text);
    const within = 'within' in cover ? cover.within : undefined;
    const faults = jsonSchemaCheck(document, pointer)(within === undefined ? json : { [within]: [json] });
    // A part lacks required fields.
    expect(cover.part ? faults.filter((fault) => !/required|oneOf|anyOf/.test(fault)) : faults).toEqual([]);
  });
});

interface Message {
  readonly jsonrpc: string;
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly code: number };
}

type Schema = Parameters<typeof readAs>[0];

/** Schemas of the parameters of each method, and of the results of the requests in the page, by their id. Null: none. */
const PARAMETERS: Readonly<Record<string, Schema | null>> = {
  initialize: initializeParams,
  executeBatchJob: executeBatchJobParams,
  simulateWork: simulateWorkParams,
  output: outputParams,
  cancel: cancelParams,
  shutdown: null,
};
const RESULTS: Readonly<Record<number, Schema | null>> = {
  1: initializeResult,
  2: executeBatchJobResult,
  3: null,
  4: null,
  5: null,
};

function expectValid({ jsonrpc, id, method, params, result, error }: Message): void {
  expect(jsonrpc).toBe('2.0');
  const schema = method === undefined ? RESULTS[id ?? 0] : PARAMETERS[method];
  const value = method === undefined ? result : params;
  if (error !== undefined) expect(error.code).toBeTypeOf('number');
  else if (schema === null) expect(value).toBeTypeOf('object');
  else expect(() => readAs(schema as Schema, value), `${method}`).not.toThrow();
}

/** One message, broken into lines, or one in each line. */
function messagesIn(text: string): Message[] {
  try {
    return [JSON.parse(text) as Message];
  } catch {
    return text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Message);
  }
}

function faultsOf({ text }: CodeBlock, cover: Extract<Cover, { config: string }>): readonly string[] {
  const content: unknown = parse(replaced(text, cover.replace ?? {}).replace('HASH', PASSWORD_HASH));
  const file = join(folder, 'config.yaml');
  writeFileSync(
    file,
    stringify(cover.below ? { [cover.below]: { enabled: true, ...(content as object) } } : content),
  );
  const loaded = cover.config === 'hub' ? loadHubConfig(file, {}) : loadAgentConfig(file, {});
  return 'faults' in loaded ? loaded.faults : [];
}

/** A hash of the form that the page abbreviates. */
const PASSWORD_HASH = `$scrypt$ln=15,r=8,p=3$${'A'.repeat(22)}$${'A'.repeat(43)}`;

const SCRIPTS: Readonly<Record<string, string>> = {
  'workbench-hub': 'hub/bin/workbench-hub.js',
  'workbench-agent': 'agent/bin/workbench-agent.js',
};

/** Commands of our programs in a script, with a configuration that does not exist, so that they end at once. */
function commandsIn(text: string): [script: string, args: string[]][] {
  const found: [string, string[]][] = [];
  for (const line of text.split('\n')) {
    const command =
      /(?:^|npx |-- |no-deps -T |exec (?:-T )?hub |\| +)(workbench-(?:hub|agent)) ([^|#>]*)/.exec(line);
    const script = SCRIPTS[command?.[1] ?? ''];
    if (script === undefined) continue;
    const words = (command?.[2] ?? '')
      .trim()
      .replaceAll(/\$\([^)]*\)/g, 'x')
      .split(/\s+/);
    const args = words.filter(
      (word, index) => !/^(?:-c|--config)$/.test(words[index - 1] ?? '') && !/^(?:-c|--config)$/.test(word),
    );
    found.push([script, [...args, '--config', 'none.yaml']]);
  }
  return found;
}

/** A real Prometheus that scrapes a hub with TLS, as the page on operations and the README say. */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { eventually } from '../support/eventually.js';
import { authority } from '../support/hubs/certificates.js';
import { endPrograms, type HubProgram, startAgent, startHub } from '../support/programs/programs.js';
import { runCommand } from '../support/programs/run-command.js';
import { keepSecret } from '../support/secrets.js';
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.js';

const PASSWORD = 'correct horse battery staple';
const HUB = 'hub/bin/workbench-hub.js';

const page = readFileSync(new URL('../../packages/docs/operations.md', import.meta.url), 'utf8');
const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const alerts = new URL('../../deploy/prometheus/alerts.yaml', import.meta.url).pathname;

/** Under CI, which installs it, a missing Prometheus fails. */
const isMissing = spawnSync('promtool', ['--version']).error !== undefined && process.env['CI'] === undefined;
const title = isMissing
  ? 'Prometheus: SKIPPED, promtool is not installed (apt-get install prometheus)'
  : 'Prometheus';

let folder: TemporaryFolder;
beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  await endPrograms();
  await folder.remove();
});

/** The fenced block of a page that contains `text`. */
function block(text: string, of = page): string {
  const found = [...of.matchAll(/```\w+\n([\s\S]*?)```/g)].find(([, body]) => body?.includes(text));
  if (found?.[1] === undefined) throw new Error(`there is no block with ${text}`);
  return found[1];
}

function replaced(text: string, replacements: Record<string, string>): string {
  return Object.entries(replacements).reduce((all, [from, to]) => {
    expect(all).toContain(from);
    return all.replaceAll(from, to);
  }, text);
}

const shell = async (script: string) =>
  (await promisify(execFile)('bash', ['-euc', script], { cwd: folder.path })).stdout;

async function startTlsHub(): Promise<HubProgram> {
  const certificate = await (await authority(folder.path, 'ca')).issue({ name: 'hub', hosts: ['127.0.0.1'] });
  const config = { server: { port: 0, tls: certificate }, security: { enabled: true } };
  writeFileSync(
    join(folder.path, 'hub.yaml'),
    JSON.stringify({ dataDir: join(folder.path, 'hub'), ...config }),
  );
  keepSecret(PASSWORD);
  const { code, stderr } = await runCommand(
    HUB,
    ['user', 'add', 'anna', '--role', 'ADMIN', '--config', 'hub.yaml'],
    { cwd: folder.path, input: `${PASSWORD}\n` },
  );
  expect(code, stderr).toBe(0);
  return startHub(folder.path, config);
}

/** Logs in as the README says and creates the token as the page says, into the file `workbench-hub-token`. */
async function createToken(hub: HubProgram): Promise<void> {
  const logIn = replaced(block('HUB=https', readme), {
    'https://hub.example.com:8443': hub.baseUrl,
    '…': PASSWORD,
  })
    .split('\n')
    .slice(0, 3);
  await shell([...logIn, block('"role": "METRICS"')].join('\n'));
  keepSecret(readFileSync(join(folder.path, 'workbench-hub-token'), 'utf8').trim());
}

function writePrometheusConfig(hub: HubProgram): string {
  const config = replaced(block('tls_config'), {
    '/etc/prometheus/workbench-hub-token': join(folder.path, 'workbench-hub-token'),
    '/etc/prometheus/workbench-hub-ca.pem': join(folder.path, 'ca.pem'),
    'hub.example.com:8443': new URL(hub.baseUrl).host,
  });
  const file = join(folder.path, 'prometheus.yml');
  const rules = block('rule_files').replace('/etc/prometheus/workbench-hub-alerts.yaml', alerts);
  writeFileSync(file, `global: { scrape_interval: 1s }\n${rules}${config}`);
  return file;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

describe.skipIf(isMissing)(title, () => {
  it('scrapes the hub with the configuration of the page', async () => {
    const hub = await startTlsHub();
    await createToken(hub);
    const config = writePrometheusConfig(hub);
    const checked = spawnSync('promtool', ['check', 'config', config], { encoding: 'utf8' });
    expect(checked.status, checked.stderr + checked.stdout).toBe(0);

    const port = await freePort();
    const storage = join(folder.path, 'prometheus');
    const prometheus = spawn(
      'prometheus',
      [`--config.file=${config}`, `--storage.tsdb.path=${storage}`, `--web.listen-address=127.0.0.1:${port}`],
      { stdio: 'ignore' },
    );
    try {
      const value = async (query: string) => {
        const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`;
        const { data } = (await (await fetch(url)).json()) as {
          data: { result: { value: [number, string] }[] };
        };
        return data.result[0]?.value[1];
      };
      // Scrapes of a busy hub may time out at first.
      await eventually(async () => (await value('up{job="workbench-hub"}').catch(() => undefined)) === '1');
      expect(await value('workbench_hub_build_info')).toBe('1');
    } finally {
      prometheus.kill();
      await once(prometheus, 'exit');
    }
  });

  it('finds nothing wrong with names and help of the metrics', async () => {
    const manager = { kind: 'command', submit: ['false'], list: ['false'], cancel: ['false'] };
    const agentOfHost = { hub: 'ws://127.0.0.1:9', instances: [{ id: 'belt', version: '7' }] };
    const recipe = {
      name: 'belts',
      manager,
      folder: folder.path,
      max: { hostHoursPerDay: 24 },
      agent: agentOfHost,
    };
    const hub = await startHub(folder.path, { hosts: [recipe] });
    const agent = startAgent(folder.path, hub, 'host', { instances: [{ id: 'sim', version: '1' }] });
    await agent.logged(({ msg }) => msg === 'joined the hub');
    const json = { 'content-type': 'application/json' };
    const task = await fetch(`${hub.baseUrl}/api/2.0/workbench/task/simulate-work/create`, {
      method: 'POST',
      headers: json,
      body: '{"duration":0}',
    });
    const { id } = (await task.json()) as { id: string };
    await fetch(`${hub.baseUrl}/api/2.0/workbench/task/simulate-work/${id}/result?timeout=30`);
    const metrics = await (await fetch(`${hub.baseUrl}/actuator/prometheus`)).text();
    expect(metrics).toContain('workbench_hub_hosts_bound_seconds{recipe="belts"} 86400');
    const { status, stderr, stdout } = spawnSync('promtool', ['check', 'metrics'], {
      input: metrics,
      encoding: 'utf8',
    });
    expect(stderr + stdout).toBe('');
    expect(status).toBe(0);
  });

  it('accepts the alert rules', () => {
    const { status, stderr, stdout } = spawnSync('promtool', ['check', 'rules', alerts], {
      encoding: 'utf8',
    });
    expect(status, stderr + stdout).toBe(0);
  });

  it('raises the alerts of a cluster once for all its hubs, and only when they are due', () =>
    expectAlerts(clusterTest()));

  it('raises the alerts of hosts that come and go once for all hubs, and only when they are due', () =>
    expectAlerts(hostsTest()));
});

/** Fails unless Prometheus raises the alerts as the test says. */
function expectAlerts(alertTest: object): void {
  const file = join(folder.path, 'alerts.test.yaml');
  const tests = { rule_files: [alerts], evaluation_interval: '1m', tests: [alertTest] };
  writeFileSync(file, JSON.stringify(tests));
  const { status, stderr, stdout } = spawnSync('promtool', ['test', 'rules', file], { encoding: 'utf8' });
  expect(status, stderr + stdout).toBe(0);
}

const JOB = 'workbench-hub';

/** A series of each of three hubs. */
const atEach = (name: string, labels: string, values: string) =>
  ['a', 'b', 'c'].map((instance) => ({
    series: `workbench_hub_${name}{job="${JOB}",instance="${instance}"${labels}}`,
    values,
  }));
const raised = (alertname: string, severity: string, summary: string, labels: object = { job: JOB }) => {
  const { annotations } = ruleOf(alertname);
  return { exp_labels: { severity, ...labels }, exp_annotations: { ...annotations, summary } };
};
const at = (evalTime: string, alertname: string, ...expected: object[]) => ({
  eval_time: evalTime,
  alertname,
  exp_alerts: expected,
});

/** Gauges of two recipes for an hour: starts of `gears` fail for half of it, and then its host-hours are used up; `belts` has no bound, and
 *  its workload manager is away for a quarter of an hour. */
function hostsTest() {
  const labels = { job: JOB, recipe: 'gears' };
  const gears = (name: string, values: string) => atEach(`hosts_${name}`, ',recipe="gears"', values);
  const belts = (name: string, values: string) => atEach(`hosts_${name}`, ',recipe="belts"', values);
  const startsFail = raised(
    'WorkbenchHubHostStartsFail',
    'warning',
    `4 starts in a row of hosts of the recipe gears have failed at ${JOB}.`,
    labels,
  );
  const away = raised(
    'WorkbenchHubWorkloadManagerAway',
    'warning',
    `The workload manager of the recipe belts has not answered ${JOB} for 10 minutes.`,
    { job: JOB, recipe: 'belts' },
  );
  const usedUp = raised(
    'WorkbenchHubHostHoursUsedUp',
    'warning',
    `The recipe gears of ${JOB} has its host-hours of 24 hours used up or reserved, and tasks wait.`,
    labels,
  );
  const rolloutFailed = raised(
    'WorkbenchHubRolloutFailed',
    'warning',
    `The rollout of ${JOB} to its agents is stopped by 2 that went back to the version before.`,
    { job: JOB },
  );
  return {
    interval: '1m',
    input_series: [
      ...atEach('agents_by_rollout', ',progress="FAILED"', '0x9 2x20 0x60'),
      ...gears('failures_in_a_row', '2x9 4x20 0x60'),
      ...belts('failures_in_a_row', '0x90'),
      ...gears('manager_up', '1x90'),
      ...belts('manager_up', '1x9 0x14 1x60'),
      // Up to the end of half an hour there is room for just one allocation.
      ...gears('ran_seconds', '3600x29 3700x60'),
      ...gears('reserved_seconds', '7200x90'),
      ...gears('wall_time_seconds', '3600x90'),
      ...gears('bound_seconds', '14400x90'),
      ...belts('ran_seconds', '999999x90'),
      ...belts('reserved_seconds', '7200x90'),
      ...belts('wall_time_seconds', '3600x90'),
      ...atEach('tasks_waiting', ',priority="NORMAL"', '5x69 0x20'),
      ...atEach('tasks_waiting', ',priority="HIGH"', '0x90'),
    ],
    alert_rule_test: [
      at('9m', 'WorkbenchHubRolloutFailed'),
      at('15m', 'WorkbenchHubRolloutFailed', rolloutFailed),
      at('35m', 'WorkbenchHubRolloutFailed'),
      at('9m', 'WorkbenchHubHostStartsFail'),
      at('15m', 'WorkbenchHubHostStartsFail', startsFail),
      at('35m', 'WorkbenchHubHostStartsFail'),
      at('15m', 'WorkbenchHubWorkloadManagerAway'),
      at('22m', 'WorkbenchHubWorkloadManagerAway', away),
      at('30m', 'WorkbenchHubWorkloadManagerAway'),
      at('29m', 'WorkbenchHubHostHoursUsedUp'),
      at('60m', 'WorkbenchHubHostHoursUsedUp', usedUp),
      at('75m', 'WorkbenchHubHostHoursUsedUp'),
    ],
  };
}

/** Gauges of three hubs for a day and two hours: one hub is gone for half an hour, another stays at a newer version for a day and an hour. */
function clusterTest() {
  const job = JOB;
  const noScheduler = raised(
    'WorkbenchHubNoScheduler',
    'critical',
    `The cluster ${job} has no scheduler, so no waiting task begins.`,
  );
  const gone = raised(
    'WorkbenchHubGone',
    'warning',
    `1 hubs of the cluster ${job} are gone and have not stopped in order.`,
  );
  const mixed = raised(
    'WorkbenchHubMixedVersions',
    'warning',
    `The hubs of the cluster ${job} have had 2 versions for a day.`,
  );
  const clock = raised(
    'WorkbenchHubClockWrong',
    'warning',
    'The clock of b is 1m 30s from that of the database.',
    {
      job,
      instance: 'b',
    },
  );
  const day = 24 * 60;
  return {
    interval: '1m',
    input_series: [
      ...atEach('cluster_schedulers', '', '1x4 0x4 1x9'),
      ...atEach('cluster_hubs', ',status="DOWN"', '1x30 0x30'),
      ...atEach('cluster_versions', ',version="1.4.0"', `2x${day + 120}`),
      ...atEach('cluster_versions', ',version="1.5.0"', `1x${day + 60} _x60`),
      { series: `workbench_hub_clock_offset_seconds{job="${job}",instance="a"}`, values: '1.9x60' },
      { series: `workbench_hub_clock_offset_seconds{job="${job}",instance="b"}`, values: '-90x60' },
    ],
    alert_rule_test: [
      at('5m', 'WorkbenchHubNoScheduler'),
      at('8m', 'WorkbenchHubNoScheduler', noScheduler),
      at('10m', 'WorkbenchHubNoScheduler'),
      at('9m', 'WorkbenchHubGone'),
      at('20m', 'WorkbenchHubGone', gone),
      at('40m', 'WorkbenchHubGone'),
      at('12h', 'WorkbenchHubMixedVersions'),
      at(`${day + 30}m`, 'WorkbenchHubMixedVersions', mixed),
      at(`${day + 90}m`, 'WorkbenchHubMixedVersions'),
      at('4m', 'WorkbenchHubClockWrong'),
      at('30m', 'WorkbenchHubClockWrong', clock),
    ],
  };
}

function ruleOf(alert: string): { readonly annotations: Readonly<Record<string, string>> } {
  const { groups } = parse(readFileSync(alerts, 'utf8')) as {
    groups: { rules: { alert: string; annotations: Record<string, string> }[] }[];
  };
  const rule = groups.flatMap(({ rules }) => rules).find((each) => each.alert === alert);
  return rule ?? expect.fail(`there is no alert ${alert}`);
}

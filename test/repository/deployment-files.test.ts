/** Images, compose file and playbooks: what can be checked of them without an engine and without hosts. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { agentConfigSchema } from '@workbench-hub/agent/config';
import { loadHubConfig } from '@workbench-hub/hub/config';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('the Dockerfile', () => {
  const instructions = read('deploy/docker/Dockerfile')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => ({ name: line.split(' ', 1)[0] ?? '', words: line.split(/\s+/).slice(1) }));
  const all = (name: string) => instructions.filter((instruction) => instruction.name === name);

  it('names every base image by its full version, one for all stages', () => {
    const versions = all('FROM').map(
      ({ words: [image = ''] }) => /^node:(\d+\.\d+\.\d+)-bookworm/.exec(image)?.[1],
    );
    expect(versions).toHaveLength(3);
    expect(new Set(versions)).toEqual(new Set([expect.any(String)]));
  });

  it('copies only what the clone has', () => {
    const sources = all('COPY').flatMap(({ words }) => words.slice(0, -1));
    expect(sources.filter((source) => !existsSync(join(root, source)))).toEqual([]);
  });

  it('runs hub and agent as users of their own', () => {
    expect(all('USER').map(({ words }) => words.join(' '))).toEqual(['10001:10001', '10002:10002']);
    const users = instructions.flatMap(({ name }) => (['USER', 'ENTRYPOINT'].includes(name) ? [name] : []));
    expect(users).toEqual(['USER', 'ENTRYPOINT', 'USER', 'ENTRYPOINT']);
  });
});

it('the configurations of the images are valid', () => {
  expect(loadHubConfig(join(root, 'deploy/docker/hub.yaml'), {})).toHaveProperty('config');
  const agent = agentConfigSchema.safeParse(parse(read('deploy/docker/agent.yaml')));
  expect(agent.success).toBe(true);
});

it('the compose file builds targets of the Dockerfile and confines both services', () => {
  interface Service {
    readonly build: { readonly context: string; readonly dockerfile: string; readonly target: string };
  }
  const { services } = parse(read('deploy/docker/compose.yaml')) as { services: Record<string, Service> };
  expect(Object.keys(services)).toEqual(['hub', 'agent']);
  for (const [name, { build, ...service }] of Object.entries(services)) {
    expect(read(join('deploy/docker', build.context, build.dockerfile))).toContain(` AS ${build.target}\n`);
    expect(build.target).toBe(name);
    expect(service).toMatchObject({ read_only: true, cap_drop: ['ALL'], init: true });
  }
});

const ansible = readdirSync(join(root, 'deploy/ansible')).filter((file) => file.endsWith('.yaml'));

it.each(ansible)('deploy/ansible/%s is YAML', (file) => {
  expect(() => parse(read(join('deploy/ansible', file)))).not.toThrow();
});

it.each(ansible.filter((file) => !file.startsWith('inventory')))(
  'the playbook %s uses modules of Ansible itself, and templates that exist',
  (file) => {
    interface Play {
      readonly tasks: readonly Record<string, unknown>[];
      readonly handlers: readonly Record<string, unknown>[];
    }
    const plays = parse(read(join('deploy/ansible', file))) as readonly Play[];
    const tasks = plays.flatMap((play) => [...play.tasks, ...play.handlers]);
    expect(tasks.length).toBeGreaterThan(3);
    for (const task of tasks) {
      expect(Object.keys(task).filter((key) => key.startsWith('ansible.builtin.'))).toHaveLength(1);
      const { src } = (task['ansible.builtin.template'] ?? {}) as { readonly src?: string };
      if (src !== undefined) expect(existsSync(join(root, 'deploy/ansible/templates', src))).toBe(true);
    }
  },
);

describe('the playbook of the agents', () => {
  interface Task {
    readonly 'ansible.builtin.apt'?: object;
    readonly 'ansible.builtin.systemd_service'?: { readonly daemon_reload?: boolean };
    readonly 'ansible.builtin.template'?: { readonly src: string; readonly dest: string };
  }
  interface Play {
    readonly vars: { readonly workbench_agent_id: string };
    readonly tasks: readonly Task[];
  }
  const [play] = parse(read('deploy/ansible/agents.yaml')) as readonly [Play];

  it('has systemd allow the time of the drain before anything restarts an agent', () => {
    const indexOf = (is: (task: Task) => boolean | undefined) => play.tasks.findIndex((task) => is(task));
    const dropIn = indexOf(({ 'ansible.builtin.template': template }) =>
      template?.dest.startsWith('/etc/systemd/system/workbench-agent.service.d/'),
    );
    const reload = indexOf(({ 'ansible.builtin.systemd_service': service }) => service?.daemon_reload);
    const install = indexOf((task) => task['ansible.builtin.apt'] !== undefined);
    expect([dropIn, reload, install].toSorted((a, b) => a - b)).toEqual([dropIn, reload, install]);
    expect(dropIn).toBeGreaterThanOrEqual(0);
    const text = read(
      join('deploy/ansible/templates', play.tasks[dropIn]?.['ansible.builtin.template']?.src ?? ''),
    );
    expect(text).toMatch(/^TimeoutStopSec=\{\{ workbench_drain_timeout \| default\('0s'\) \}\} 60s$/m);
  });

  /** Renders a template of Jinja with the few filters and tests of Ansible that the playbook uses. */
  const RENDERER = `
import json, re, sys, jinja2
template, variables = json.load(sys.stdin)
environment = jinja2.Environment(trim_blocks=True)
environment.filters.update(to_json=json.dumps, combine=lambda a, b: {**a, **b})
environment.tests.update(match=lambda text, pattern: re.match(pattern, text) is not None)
sys.stdout.write(environment.from_string(template).render(variables))`;
  const rendered = (template: string, variables: object) => {
    const input = JSON.stringify([template, variables]);
    const { status, stdout, stderr } = spawnSync('python3', ['-c', RENDERER], { input, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    return stdout;
  };
  const hasJinja = spawnSync('python3', ['-c', 'import jinja2']).status === 0;

  it.runIf(hasJinja).each([
    ['sim-host-07.example.com', 'sim-host-07'],
    ['10.0.0.5', '10-0-0-5'],
    ['17', '17'],
    ['17.example.com', '17'],
  ])('gives the host %s the id %s', (host, id) => {
    const hostVariables = { inventory_hostname: host, inventory_hostname_short: host.split('.')[0] };
    const workbench_agent_id = rendered(play.vars.workbench_agent_id, hostVariables);
    const text = rendered(read('deploy/ansible/templates/agent.yaml.j2'), {
      workbench_agent_id,
      workbench_hub_address: 'wss://hub.example.com:8443',
      workbench_instances: [{ id: 'ccx', version: '2.20' }],
    });
    const { id: found, instances } = agentConfigSchema.parse(parse(text));
    expect(found).toBe(id);
    expect(instances.map((instance) => instance.id)).toEqual([`${id}-ccx`]);
  });
});

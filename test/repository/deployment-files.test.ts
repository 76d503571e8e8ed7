/** Images, compose file and playbooks: what can be checked of them without an engine and without hosts. */
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

/** The dashboard and the alert rules under deploy/ name only metrics that the hub has. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { FakeAgent } from '../support/agents/fake-agent.js';
import { type RunningHub, startHub } from '../support/hubs/running-hub.js';

const DASHBOARD = fileURLToPath(new URL('../../deploy/grafana/workbench-hub.json', import.meta.url));
const ALERTS = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url));
const PAGE = fileURLToPath(new URL('../../packages/docs/operations.md', import.meta.url));

let hub: RunningHub;
/** Type and labels of each metric of the hub. */
let metrics: Map<string, string>;
beforeAll(async () => {
  // The metrics of upstreams and of hosts are those of a hub that has some.
  const upstreams = [{ url: 'ws://127.0.0.1:9', id: 'site', token: 'token' }];
  const manager = { kind: 'command' as const, submit: ['false'], list: ['false'], cancel: ['false'] };
  const agentOfHost = { hub: 'ws://127.0.0.1:9', instances: [{ id: 'belt', version: '7' }] };
  const hosts = [{ name: 'belts', manager, folder: '/nonexistent', agent: agentOfHost }];
  hub = await startHub({ config: { upstreams, hosts } });
  const agent = await FakeAgent.join(hub);
  const text = await (await fetch(`${hub.address}/actuator/prometheus`)).text();
  metrics = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
  );
  await agent.leave();
});
afterAll(() => hub.stop());

/** Gauges from the store of the cluster, and of what all its hubs know. */
const SEEN_ALIKE = new Set(
  [
    ...['tasks_waiting', 'tasks_running', 'agents', 'agents_drained', 'agent_clock_offset_seconds'],
    'agents_by_build',
    'agents_by_rollout',
    ...['instances', 'instances_working', 'studies', 'webhooks_waiting', 'database_bytes'],
    ...['hosts_allocations', 'hosts_instances_coming', 'hosts_ran_seconds', 'hosts_reserved_seconds'],
    ...['hosts_bound_seconds', 'hosts_wall_time_seconds', 'hosts_failures_in_a_row', 'hosts_paused'],
    ...['hosts_manager_up', 'cluster_hubs', 'cluster_versions', 'cluster_schedulers', 'cluster_term'],
  ].map((name) => `workbench_hub_${name}`),
);

/** Every series that an expression names: `workbench_hub_…`, `nodejs_…` and `process_…`. */
const namesIn = (text: string) => [...new Set(text.match(/\b(?:workbench_hub|nodejs|process)_\w+/g) ?? [])];

/** Whether the hub has a series of this name. */
function isTold(name: string): boolean {
  if (metrics.has(name)) return metrics.get(name) !== 'histogram';
  const [, base = ''] = /^(.*)_(?:bucket|sum|count)$/.exec(name) ?? [];
  return metrics.get(base) === 'histogram';
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
}

describe('the dashboard', () => {
  const { panels } = JSON.parse(readFileSync(DASHBOARD, 'utf8')) as { panels: Panel[] };
  const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));

  it('names only metrics of the hub', () => {
    expect(expressions.length).toBeGreaterThan(30);
    for (const expression of expressions) {
      expect(namesIn(expression), expression).not.toEqual([]);
      expect(namesIn(expression).filter((name) => !isTold(name))).toEqual([]);
    }
  });

  it('shows every metric that the hub defines', () => {
    const shown = new Set(
      namesIn(expressions.join(' ')).map((name) => name.replace(/_(bucket|sum|count)$/, '')),
    );
    const own = [...metrics.keys()].filter((name) => name.startsWith('workbench_hub_'));
    expect(own.filter((name) => !shown.has(name)).sort()).toEqual([
      'workbench_hub_build_info',
      'workbench_hub_locked',
    ]);
  });

  it('counts once what all hubs of a cluster see alike', () => {
    for (const expression of expressions) {
      const counted = expression.matchAll(/(max by \(job[a-z, ]*\) \()?\b(workbench_hub_\w+)/g);
      for (const [, once, name = ''] of counted) {
        if (SEEN_ALIKE.has(name)) expect(once, `${name} in ${expression}`).toBeDefined();
      }
    }
    expect([...SEEN_ALIKE].filter((name) => !metrics.has(name))).toEqual([]);
  });

  it('has panels with different ids, without overlap', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { gridPos, title } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x} ${y}`), title).toBe(false);
          taken.add(`${x} ${y}`);
        }
      }
    }
  });
});

describe('the alert rules', () => {
  interface Rule {
    readonly alert: string;
    readonly expr: string;
    readonly for?: string;
    readonly labels: { readonly severity: string };
    readonly annotations: { readonly summary: string; readonly action: string };
  }
  const { groups } = parse(readFileSync(ALERTS, 'utf8')) as { groups: { rules: Rule[] }[] };
  const rules = groups.flatMap((group) => group.rules);

  it('name only metrics of the hub, with what to do', () => {
    expect(rules.length).toBeGreaterThan(10);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, expr, labels, annotations } of rules) {
      expect(
        namesIn(expr).filter((name) => !isTold(name)),
        alert,
      ).toEqual([]);
      expect(['warning', 'critical'], alert).toContain(labels.severity);
      expect(annotations.summary, alert).toMatch(/\S/);
      expect(annotations.action, alert).toMatch(/\S/);
    }
  });

  it('are valid, also by promtool where it is installed', () => {
    for (const rule of rules) {
      expect(
        Object.keys(rule).filter((key) => !RULE_KEYS.has(key)),
        rule.alert,
      ).toEqual([]);
      expect(rule.for ?? '1m', rule.alert).toMatch(/^\d+[smhd]$/);
      expect(balanced(rule.expr), rule.alert).toBe(true);
    }
    if (!hasPromtool()) return;
    expect(execFileSync('promtool', ['check', 'rules', ALERTS], { encoding: 'utf8' })).toContain('SUCCESS');
  });
});

const RULE_KEYS = new Set(['alert', 'expr', 'for', 'keep_firing_for', 'labels', 'annotations']);

/** Whether every bracket is closed by its own kind. */
function balanced(expression: string): boolean {
  const open: string[] = [];
  for (const sign of expression.replaceAll(/"[^"]*"/g, '')) {
    const at = '([{'.indexOf(sign);
    if (at >= 0) open.push(')]}'[at] as string);
    else if (')]}'.includes(sign) && open.pop() !== sign) return false;
  }
  return open.length === 0;
}

function hasPromtool(): boolean {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

it('the page on operations names every metric of the hub, and no other', () => {
  const table = readFileSync(PAGE, 'utf8');
  const own = [...metrics.keys()].filter((name) => name.startsWith('workbench_hub_')).sort();
  const named = [...new Set(table.match(/\bworkbench_hub_\w*\w/g))].filter(
    (name) => name !== 'workbench_hub_',
  );
  expect(named.sort()).toEqual(own);
});

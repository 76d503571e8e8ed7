// Proof that the import rules work: dependency-cruiser checks, with the configuration of this repository, a small project in
// which each file has one wrong or one right import.
import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Importer, imported file, and the rule that must report it. */
const forbidden: [from: string, to: string, rule: string][] = [
  ['hub/main.ts', '@workbench-hub/agent/agent', 'hub-imports-only-shared'],
  ['agent/agent.ts', '@workbench-hub/hub/hub', 'agent-imports-only-shared'],
  ['agent/disk/a.ts', '../../hub/core/x.js', 'agent-imports-only-shared'],
  ['shared/runtime/a.ts', '@workbench-hub/hub/core/x', 'shared-imports-nothing-of-ours'],
  ['shared/config/a.ts', '../../agent/core/x.js', 'shared-imports-nothing-of-ours'],
  ['shared/domain/a.ts', '../runtime/x.js', 'domain-imports-only-domain'],
  ['shared/domain/b.ts', 'node:fs', 'domain-imports-only-domain'],
  ['shared/domain/c.ts', 'hono', 'domain-imports-only-domain'],
  ['shared/domain/d.test.ts', '../runtime/x.js', 'domain-tests-import-only-domain'],
  ['hub/core/a.ts', '../engine/x.js', 'core-is-pure'],
  ['hub/core/b.ts', '@workbench-hub/shared/agent-protocol/messages', 'core-is-pure'],
  ['hub/core/c.ts', 'node:fs/promises', 'core-is-pure'],
  ['hub/core/d.ts', 'zod', 'core-is-pure'],
  ['hub/core/e.ts', '@workbench-hub/shared/runtime/x', 'core-imports-only-types-of-runtime'],
  ['hub/core/f.ts', 'node:stream', 'core-imports-only-types-of-runtime'],
  ['agent/core/a.ts', '../engine/x.js', 'core-is-pure'],
  ['agent/core/b.test.ts', '../engine/x.js', 'core-tests-import-only-core'],
  ['hub/engine/a.ts', '../http/x.js', 'engine-imports-only-inward'],
  ['hub/engine/b.ts', '../store/sqlite/x.js', 'engine-imports-only-inward'],
  ['hub/engine/c.ts', '@workbench-hub/shared/agent-protocol/dial', 'engine-imports-only-inward'],
  ['hub/engine/m.ts', '@workbench-hub/shared/agent-protocol/messages', 'engine-imports-only-inward'],
  ['hub/engine/d.ts', '../hub.js', 'engine-imports-only-inward'],
  ['hub/engine/e.ts', 'node:fs', 'engine-does-no-io'],
  ['hub/engine/reader.ts', 're2js', 'readers-of-values-only-in-output-values'],
  ['hub/engine/f.ts', 'node:timers/promises', 'engine-does-no-io'],
  ['agent/engine/a.ts', '../process/x.js', 'engine-imports-only-inward'],
  ['agent/engine/b.ts', 'node:child_process', 'engine-does-no-io'],
  ['hub/http/a.ts', '../store/sqlite/x.js', 'adapters-import-only-inward'],
  ['hub/http/b.ts', '../hub.js', 'adapters-import-only-inward'],
  ['hub/files/a.ts', '../config.js', 'adapters-import-only-inward'],
  ['hub/agent-link/a.ts', '../files/x.js', 'adapters-import-only-inward'],
  ['hub/newcomer/a.ts', '../http/x.js', 'adapters-import-only-inward'],
  ['agent/process/c.ts', '../disk/x.js', 'adapters-import-only-inward'],
  ['shared/joining/a.ts', '../hub-link/x.js', 'joining-imports-only-inward'],
  ['shared/joining/b.ts', '../agent-protocol/messages.js', 'joining-imports-only-inward'],
  ['hub/store/sqlite/a.ts', '../postgres/x.js', 'stores-do-not-import-each-other'],
  ['hub/store/rows/a.ts', '../sqlite/x.js', 'rows-import-only-core'],
  ['hub/store/rows/b.ts', 'better-sqlite3', 'rows-import-only-core'],
  ['hub/engine/h.ts', '../store/rows/x.js', 'rows-are-for-stores'],
  ['hub/store/open-store-a.ts', './rows/x.js', 'rows-are-for-stores'],
  ['hub/store/sole-hub/a.ts', '../rows/x.js', 'rows-are-for-stores'],
  ['hub/commands/c.ts', '../store/sqlite/x.js', 'store-is-chosen-in-one-place'],
  ['hub/hub-d.ts', './store/sqlite/x.js', 'store-is-chosen-in-one-place'],
  ['hub/store/sqlite/b.ts', '@workbench-hub/agent/agent', 'hub-imports-only-shared'],
  ['hub/hub.ts', './main.js', 'not-to-main'],
  ['hub/commands/a.ts', 'hono', 'hono-only-in-http'],
  ['hub/hub-a.ts', '@hono/node-server', 'hono-only-in-http'],
  ['hub/engine/g.ts', 'better-sqlite3', 'sqlite-only-in-store'],
  ['agent/engine/d.ts', 'pg', 'postgres-only-in-store'],
  ['hub/files/b.ts', 'pg', 'postgres-only-in-store'],
  ['hub/files/e.ts', '@aws-sdk/client-s3', 'object-stores-only-in-files'],
  ['hub/files/f.ts', './s3/x.js', 'object-stores-are-loaded-when-wanted'],
  ['hub/metrics/b.ts', '@opentelemetry/api', 'opentelemetry-only-in-tracing'],
  ['hub/hub-b.ts', './tracing/x.js', 'tracing-is-loaded-when-wanted'],
  ['agent/agent-b.ts', '@workbench-hub/shared/tracing/x', 'tracing-is-loaded-when-wanted'],
  ['shared/agent-protocol/link.ts', 'ws', 'sockets-only-at-the-ends-of-the-link'],
  ['shared/hub-link/b.ts', 'ws', 'sockets-only-at-the-ends-of-the-link'],
  ['agent/engine/c.ts', 'vitest', 'test-tools-only-in-tests'],
  [
    'packages/runner/a.ts',
    '@workbench-hub/shared/runtime/x',
    'instance-programs-import-only-the-instance-protocol',
  ],
  ['packages/runner/b.ts', '../workbench/x.js', 'instance-programs-import-only-the-instance-protocol'],
  [
    'packages/runner/c.ts',
    '@workbench-hub/workbench/x',
    'instance-programs-import-only-the-instance-protocol',
  ],
  [
    'packages/runner/d.ts',
    '@workbench-hub/hub/core/x',
    'instance-programs-import-only-the-instance-protocol',
  ],
  ['packages/one-file/a.ts', '@workbench-hub/hub/core/x', 'one-file-joins-agent-and-runner'],
  ['packages/client/a.ts', '@workbench-hub/shared/domain/x', 'client-imports-nothing-of-ours'],
  ['packages/cli/a.ts', '@workbench-hub/shared/domain/x', 'cli-and-console-import-only-the-client'],
  ['packages/console/a.ts', '@workbench-hub/cli/x', 'cli-and-console-import-only-the-client'],
  ['hub/http/c.test.ts', '../../test/support/x.js', 'not-to-test'],
  ['agent/agent-c.ts', './fixtures/x.js', 'not-to-fixtures'],
  ['hub/files/c.ts', '../../shared/dist/domain/x.js', 'not-to-dist'],
  ['hub/files/d.ts', './missing.js', 'no-unresolvable'],
  ['hub/commands/wired.ts', '../wiring/x.js', 'wiring-is-for-the-composition-root'],
  ['hub/http/wire/a.ts', '../requests/x.js', 'http-wire-imports-downwards'],
  ['hub/http/requests/a.ts', '../routing/x.js', 'http-requests-imports-downwards'],
  ['hub/http/routing/a.ts', '../endpoints/x.js', 'http-routing-imports-downwards'],
  ['hub/http/endpoints/v2/a.ts', '../../x.js', 'http-endpoints-imports-downwards'],
];

const allowed: [from: string, to: string][] = [
  ['hub/config.ts', '@workbench-hub/shared/config/x'],
  ['hub/commands/b.ts', '../store/open-store.js'],
  ['hub/store/sqlite/z.ts', '../rows/x.js'],
  ['hub/store/postgres/z.ts', '../rows/x.js'],
  ['hub/store/rows/y.ts', '../../core/x.js'],
  ['hub/store/rows/z.ts', '@workbench-hub/shared/domain/x'],
  ['hub/core/y.ts', '@workbench-hub/shared/domain/x'],
  ['hub/core/ports/y.ts', '../x.js'],
  ['hub/core/y.test.ts', 'vitest'],
  ['hub/engine/y.ts', '../core/ports/x.js'],
  ['hub/engine/z.ts', '@workbench-hub/shared/runtime/x'],
  ['hub/http/y.ts', '../engine/x.js'],
  ['hub/http/endpoints/v2/y.ts', '../x.js'],
  ['hub/http/endpoints/y.ts', '../wire/x.js'],
  ['hub/http/y.ts', './endpoints/x.js'],
  ['hub/wiring/y.ts', './x.js'],
  ['hub/http/h.ts', 'hono'],
  ['agent/disk/y.ts', 'pg-free'],
  ['agent/y.test.ts', './fixtures/x.js'],
  ['agent/fixtures/y.ts', '../config.js'],
  ['agent/fixtures/z.ts', 'vitest'],
  ['hub/store/sqlite/y.ts', 'better-sqlite3'],
  ['hub/agent-link/y.ts', 'ws'],
  ['shared/agent-protocol/dial.ts', 'ws'],
  ['hub/engine/n.ts', '@workbench-hub/shared/joining/x'],
  ['shared/domain/z.ts', 'zod'],
  ['packages/runner/y.ts', '@workbench-hub/shared/instance-protocol/x'],
  ['packages/one-file/y.ts', '@workbench-hub/agent/engine/x'],
  ['packages/cli/y.ts', '@workbench-hub/client/x'],
  ['test/scenarios/y.ts', '@workbench-hub/hub/hub'],
];

const targets = [
  ...['hub', 'agent'].flatMap((half) => [`${half}/core/x.ts`, `${half}/engine/x.ts`]),
  ...[
    'hub/core/ports/x.ts',
    'hub/http/x.ts',
    ...['wire', 'requests', 'routing', 'endpoints'].map((floor) => `hub/http/${floor}/x.ts`),
    'hub/wiring/x.ts',
    'hub/files/x.ts',
    'hub/files/s3/x.ts',
    'hub/tracing/x.ts',
    'hub/store/open-store.ts',
    'hub/store/rows/x.ts',
    'hub/store/sqlite/x.ts',
    'hub/store/postgres/x.ts',
  ],
  ...[
    'agent/process/x.ts',
    'agent/disk/x.ts',
    'agent/fixtures/x.ts',
    'agent/config.ts',
    'shared/agent-protocol/messages.ts',
    'test/support/x.ts',
  ],
  ...['domain', 'runtime', 'config', 'tracing', 'instance-protocol', 'joining', 'hub-link'].map(
    (folder) => `shared/${folder}/x.ts`,
  ),
  ...['workbench', 'client', 'cli'].map((name) => `packages/${name}/x.ts`),
  'shared/dist/domain/x.js',
];
const npmPackages = [
  'hono',
  '@hono/node-server',
  '@opentelemetry/api',
  'better-sqlite3',
  're2js',
  'pg',
  'ws',
  'zod',
  'vitest',
];
/** Also installed below a workspace, as npm does when two versions are wanted. */
const nestedPackages = ['agent/node_modules/pg', 'agent/node_modules/pg-free'];

interface Violation {
  from: string;
  to: string;
  rule: { name: string };
}

let house: string;
let violations: Violation[];

beforeAll(async () => {
  house = await mkdtemp(join(tmpdir(), 'import-rules-'));
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(house, path)), { recursive: true });
    await writeFile(join(house, path), text);
  };
  for (const folder of [...npmPackages.map((name) => `node_modules/${name}`), ...nestedPackages]) {
    await write(`${folder}/package.json`, JSON.stringify({ main: 'dist/index.js' }));
    await write(`${folder}/dist/index.js`, '');
  }
  for (const path of targets) await write(path, 'export const x = 1;\n');
  for (const [from, to] of [...forbidden, ...allowed]) await write(from, `import '${to}';\n`);
  await write('hub/files/circle.ts', "import './circle-back.js';\n");
  await write('hub/files/circle-back.ts', "import './circle.js';\n");
  await write('agent/circle/a.ts', "import '../circle-back/b.js';\n");
  await write('agent/circle/c.ts', 'export const c = 1;\n');
  await write('agent/circle-back/b.ts', 'export const b = 1;\n');
  await write('agent/circle-back/d.ts', "import '../circle/c.js';\n");
  await write(
    'hub/core/t.ts',
    "import type { x } from '@workbench-hub/shared/runtime/x';\nexport type T = typeof x;\n",
  );
  await write('hub/core/s.ts', "import type { Readable } from 'node:stream';\nexport type S = Readable;\n");
  await write('hub/hub-c.ts', "export const load = () => import('./tracing/x.js');\n");
  await write('hub/core/u.ts', "import type { x } from '../http/x.js';\nexport type T = typeof x;\n");
  for (const name of ['.dependency-cruiser.cjs', '.dependency-cruiser-resolve.cjs']) {
    await copyFile(join(root, name), join(house, name));
  }
  violations = await cruise(house);
});

afterAll(() => rm(house, { recursive: true, force: true }));

/** Findings of dependency-cruiser in a folder. Its exit code is the number of errors, so it is ignored. */
function cruise(folder: string): Promise<Violation[]> {
  const script = join(root, 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const packages = ['shared', 'hub', 'agent', 'packages', 'test'];
  const args = [script, '--config', '.dependency-cruiser.cjs', '--output-type', 'json', ...packages];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { cwd: folder, maxBuffer: 2 ** 26 }, (error, stdout, stderr) => {
      if (!stdout.startsWith('{'))
        reject(new Error(`dependency-cruiser said nothing: ${stderr}`, { cause: error }));
      else resolve((JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations);
    });
  });
}

function rulesAgainst(path: string): string[] {
  return violations.filter((violation) => violation.from === path).map((violation) => violation.rule.name);
}

describe('import rules', () => {
  it.each(forbidden)('%s must not import %s: %s', (from, _to, rule) => {
    expect(rulesAgainst(from)).toContain(rule);
  });

  it.each(allowed)('%s may import %s', (from) => {
    expect(rulesAgainst(from)).toEqual([]);
  });

  it('finds a cycle', () => {
    // Reported once, for either of the two.
    expect([...rulesAgainst('hub/files/circle.ts'), ...rulesAgainst('hub/files/circle-back.ts')]).toEqual([
      'no-cycle',
    ]);
  });

  it('finds folders that import each other, though no file does', () => {
    expect(rulesAgainst('agent/circle')).toEqual(['no-folder-circle']);
    expect(rulesAgainst('agent/circle-back')).toEqual(['no-folder-circle']);
  });

  it('counts an import of types alone', () => {
    expect(rulesAgainst('hub/core/u.ts')).toContain('core-is-pure');
  });

  it('lets a composition root load tracing on demand', () => {
    expect(rulesAgainst('hub/hub-c.ts')).toEqual([]);
  });

  it('lets core use a clock or a stream as a type', () => {
    expect([...rulesAgainst('hub/core/t.ts'), ...rulesAgainst('hub/core/s.ts')]).toEqual([]);
  });
});

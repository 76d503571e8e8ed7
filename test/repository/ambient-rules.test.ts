// Proof that clock, timers, randomness, environment and exit stay where a simulation can replace them: the linter checks, with
// the configuration of this repository, files that each use one of them.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const reaches = [
  ['now', 'export const value = Date.now();'],
  ['date', 'export const value = new Date();'],
  ['random', 'export const value = Math.random();'],
  ['timeout', 'export const value = setTimeout(() => 1, 5);'],
  ['interval', 'export const value = setInterval(() => 1, 5);'],
  ['environment', "export const value = process.env['HOME'];"],
  ['exit', 'export const value = () => process.exit(1);'],
  ['sleep', "import { setTimeout as sleep } from 'node:timers/promises';\nexport const value = sleep(5);"],
] as const;
const harmless = 'export const value = new Date(1);\n';

let house: string;
let findings: string[];

beforeAll(async () => {
  house = await mkdtemp(join(tmpdir(), 'ambient-rules-'));
  const write = async (path: string, text: string) => {
    await mkdir(dirname(join(house, path)), { recursive: true });
    await writeFile(join(house, path), text);
  };
  await cp(join(root, '.biome.json'), join(house, '.biome.json'));
  await cp(join(root, '.biome'), join(house, '.biome'), { recursive: true });
  for (const [name, line] of reaches) {
    for (const folder of ['hub/engine', 'agent/process', 'shared/domain', 'shared/runtime']) {
      await write(`${folder}/${name}.ts`, `${line}\n`);
    }
  }
  await write('hub/engine/harmless.ts', harmless);
  await write('hub/main.ts', 'process.exit(1);\n');
  findings = await lint(house);
});

afterAll(() => rm(house, { recursive: true, force: true }));

/** The files with findings. The linter's exit code says only whether there are any. */
function lint(folder: string): Promise<string[]> {
  const script = join(root, 'node_modules/@biomejs/biome/bin/biome');
  const args = [script, 'lint', '--reporter=github', '--max-diagnostics=none'];
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: folder }, (_error, stdout) => {
      const files = [...stdout.matchAll(/^::error .*?file=([^,]+),/gm)].map((match) => match[1] ?? '');
      resolve(files.map((file) => file.replaceAll('\\', '/').replace(/^.*?\/?(hub|agent|shared)\//, '$1/')));
    });
  });
}

describe('ambient rules', () => {
  it.each(reaches)('find %s in domain, engine and adapter', (name) => {
    for (const folder of ['hub/engine', 'agent/process', 'shared/domain']) {
      expect(findings).toContain(`${folder}/${name}.ts`);
    }
  });

  it.each(reaches)('permit %s in the runtime', (name) => {
    expect(findings).not.toContain(`shared/runtime/${name}.ts`);
  });

  it('permit a date from a number, and main to end the process', () => {
    expect(findings).not.toContain('hub/engine/harmless.ts');
    expect(findings).not.toContain('hub/main.ts');
  });
});

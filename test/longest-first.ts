/** Starts the longest test files first, so that no long one is left alone at the end of a run. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest on a quiet machine, longest first. */
const LONGEST_FILES = [
  'test/bench/bench.test.ts',
  'test/scenarios/nothing-stays.test.ts',
  'test/scenarios/several-hubs-and-their-database.test.ts',
  'test/scenarios/packages.test.ts',
  'test/scenarios/python-client.test.ts',
  'test/scenarios/bad-agent-versions.test.ts',
  'test/simulation/simulation.test.ts',
  'test/simulation/hosts/hosts.test.ts',
  'packages/workbench-mujoco/isolation.test.ts',
  'test/console/states.test.ts',
  'test/scenarios/wb-faults.test.ts',
  'test/scenarios/agent-updates.test.ts',
  'test/scenarios/wb.test.ts',
  'test/hosts/grid-engine.test.ts',
  'test/scenarios/failed-starts.test.ts',
  'test/chaos/chaos.test.ts',
  'test/scenarios/one-file.test.ts',
  'test/scenarios/wb-commands.test.ts',
  'test/simulation/breakages.test.ts',
  'test/conformance/blob-places.test.ts',
  'test/hosts/slurm.test.ts',
  'test/scenarios/several-hubs-faults.test.ts',
  'test/simulation/sites/sites.test.ts',
  'test/conformance/postgres-terms.test.ts',
  'test/hosts/ssh.test.ts',
  'test/console/every-width.test.ts',
  'test/soak/soak.test.ts',
  'test/hosts/five-hundred-jobs.test.ts',
  'test/scenarios/quickstart.test.ts',
  'test/scenarios/traces.test.ts',
  'test/console/new-job.test.ts',
  'test/simulation/studies/studies.test.ts',
  'test/simulation/unseen-seeds.test.ts',
  'test/scenarios/quickstart-slurm.test.ts',
  'test/scenarios/hosts.test.ts',
  'test/scenarios/backup.test.ts',
  'test/scenarios/broken-transfers.test.ts',
  'test/console/hosts.test.ts',
  'test/conformance/postgres.test.ts',
  'test/scenarios/rolling-upgrade.test.ts',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const missing = LONGEST_FILES.filter((file) => !existsSync(join(this.ctx.config.root, file)));
    if (missing.length > 0)
      throw new Error(`test/longest-first.ts lists missing files: ${missing.join(', ')}`);
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST_FILES.indexOf(relative(this.ctx.config.root, moduleId));
      return index < 0 ? LONGEST_FILES.length : index;
    };
    return (await super.sort(files)).sort((a, b) => rank(a) - rank(b));
  }
}

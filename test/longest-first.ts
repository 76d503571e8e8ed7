/** Starts the longest test files first, so that no long one is left alone at the end of a run. */
import { existsSync } from 'node:fs';
import { join, relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The files that take longest on a quiet machine, longest first. */
const LONGEST_FILES = [
  'test/scenarios/nothing-stays.test.ts',
  'test/scenarios/packages.test.ts',
  'test/bench/bench.test.ts',
  'test/scenarios/python-client.test.ts',
  'test/scenarios/wb-faults.test.ts',
  'test/conformance/postgres.test.ts',
  'packages/workbench-mujoco/isolation.test.ts',
  'test/simulation/simulation.test.ts',
  'test/scenarios/quickstart.test.ts',
  'test/scenarios/wb.test.ts',
  'test/scenarios/wb-commands.test.ts',
  'test/scenarios/login-flood.test.ts',
  'test/console/preview.test.ts',
  'test/scenarios/broken-transfers.test.ts',
  'test/scenarios/failed-starts.test.ts',
  'test/conformance/postgres-lost-responses.test.ts',
  'test/console/administration.test.ts',
  'test/conformance/blob-places.test.ts',
  'test/console/instances.test.ts',
  'test/scenarios/backup.test.ts',
  'test/contract/webhooks.test.ts',
  'test/scenarios/postgresql-page.test.ts',
  'test/scenarios/agents-over-tls.test.ts',
  'test/console/sign-on.test.ts',
  'test/scenarios/wb-sign-on.test.ts',
  'test/scenarios/traces.test.ts',
  'test/console/new-job.test.ts',
  'test/console/task.test.ts',
  'test/chaos/chaos.test.ts',
  'test/scenarios/killed-and-stalled.test.ts',
  'test/scenarios/two-hundred-jobs.test.ts',
  'test/conformance/sqlite.test.ts',
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

/** A process that runs test files on request, and keeps what Vitest has compiled between requests. */
import { relative } from 'node:path';
import { createVitest, type Reporter } from 'vitest/node';

export interface Request {
  /** Beginnings of the paths of test files, from the root of the repository. */
  readonly tests: readonly string[];
  /** Beginnings of the paths of test files that are left out. */
  readonly except: readonly string[];
  /** Files that have changed since the request before. */
  readonly changed: readonly string[];
  /** Ends the run at the first failure. */
  readonly bail: boolean;
}

interface Failure {
  /** Path of the test file. */
  readonly test: string;
  readonly message: string;
}

/** Message for each file that has ended. */
export type OneEnded = 'ONE_ENDED';

export interface Response {
  /** Time that each file took, in milliseconds. */
  readonly tookMs: Readonly<Record<string, number>>;
  readonly failed: readonly Failure[];
}

let bail = true;
let failed: Failure[] = [];
const reporter: Reporter = {
  onTestModuleEnd: () => void process.send?.('ONE_ENDED' satisfies OneEnded),
  onTestCaseResult: (test) => {
    if (test.result().state !== 'failed') return;
    failed.push({ test: test.module.relativeModuleId, message: test.fullName });
    if (bail) void vitest.cancelCurrentRun('test-failure');
  },
};
const vitest = await createVitest('test', {
  config: 'test/vitest.config.ts',
  watch: false,
  reporters: [reporter],
});
// Each project has the number of workers that the configuration says.
for (const project of vitest.projects) project.config.maxWorkers = 1;
await vitest.standalone();
const all = await vitest.globTestSpecifications();

async function respondTo({ tests, except, changed, bail: bails }: Request): Promise<Response> {
  bail = bails;
  failed = [];
  for (const file of changed) vitest.invalidateFile(file);
  const paths = all.filter(({ moduleId }) => {
    const path = relative(process.cwd(), moduleId);
    const isIn = (beginnings: readonly string[]) => beginnings.some((each) => path.startsWith(each));
    return isIn(tests) && !isIn(except);
  });
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(paths);
  const asked = new Set(paths.map(({ moduleId }) => moduleId));
  const modules = testModules.filter(({ moduleId }) => asked.has(moduleId));
  for (const module of modules) {
    const test = module.relativeModuleId;
    for (const { message } of module.errors()) failed.push({ test, message });
    // Code around the tests of a group fails without a failed test.
    const isTold = failed.some((failure) => failure.test === test);
    if (module.state() === 'failed' && !isTold) failed.push({ test, message: 'beforeAll or afterAll' });
  }
  for (const error of unhandledErrors) failed.push({ test: '', message: String((error as Error).stack) });
  const took = modules.map((module) => {
    const { duration, collectDuration } = module.diagnostic();
    return [module.relativeModuleId, Math.round(duration + collectDuration)] as const;
  });
  return { failed, tookMs: Object.fromEntries(took) };
}

process.on('message', (request: Request) => {
  respondTo(request).then(
    (response) => process.send?.(response),
    (error: Error) => process.send?.({ tookMs: {}, failed: [{ test: '', message: String(error.stack) }] }),
  );
});
process.send?.('READY');

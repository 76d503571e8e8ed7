/** `npm run mutate`: changes the product's code in places that a seed draws, and prints which changes no test notices. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { seededRandom } from '../support/random.js';
import { type Mutant, mutantsOf } from './mutants.js';
import { ProductCopy } from './product-copy.js';
import { type Reach, recordReach, testsAt } from './reach.js';
import { commandOf, FOLDERS, fileAndEnvironment, nameInGroup, RUN_ONCE, THOROUGH, WORLDS } from './suites.js';
import { Types } from './types.js';

const HELP = `npm run mutate -- [options]

Options:
  --sample N      number of changes, 200 by default
  --seed N        seed that draws them, 1 by default
  --folder F      only in this folder: ${FOLDERS.join(', ')}; all of these by default
  --threads N     number of changes that are tried, or groups of tests that are recorded, at once, 1 by default
  --skip N        leaves out the first N of the sample, which an earlier run has tried
  --only A,B      tries these numbers of the sample alone, such as those that an earlier run with a lower limit did not notice
  --limit S       seconds of tests that are run for a change, 120 by default, beside those that always are (suites.ts)
  --reach FILE    keeps there which tests reach what, for the next run of the same code
  --at-least P    fails when fewer than P percent are noticed, 90 by default
`;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Time that each test may take beyond three times its own, for a busy machine. */
const PATIENCE_MS = 60_000;
const MAX_TEXT_LENGTH = 200;
const NOT_PRODUCT = /\.test\.ts$|\.d\.ts$|\/fixtures\/|\/dist\//;

interface Place {
  readonly folder: string;
  readonly file: string;
  readonly line: number;
  readonly mutant: Mutant;
}

function wholeNumber(option: string, text: string): number {
  const number = Number(text);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new Error(`--${option} must be a whole number from 1 on, not ${JSON.stringify(text)}`);
}

function filesOf(folder: string): readonly string[] {
  const tracked = execFileSync('git', ['ls-files', '-z', `${folder}/*.ts`], { cwd: ROOT }).toString();
  return tracked.split('\0').filter((file) => file !== '' && !NOT_PRODUCT.test(file));
}

/** All places of a folder. */
function placesIn(folder: string): readonly Place[] {
  return filesOf(folder).flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const lineAt = (place: number) => text.slice(0, place).split('\n').length;
    return mutantsOf(text).map((mutant) => ({ folder, file, line: lineAt(mutant.start), mutant }));
  });
}

/** Draws changes that compile. */
function draw(places: readonly Place[], count: number, seed: number): readonly Place[] {
  const random = seededRandom(seed);
  const types = new Types(ROOT);
  const left = [...places];
  const drawn: Place[] = [];
  while (drawn.length < count && left.length > 0) {
    const [place] = left.splice(random.below(left.length), 1) as [Place];
    if (types.fit(place.file, changed(readFileSync(join(ROOT, place.file), 'utf8'), place)))
      drawn.push(place);
  }
  return drawn;
}

function changed(text: string, { mutant }: Place): string {
  return text.slice(0, mutant.start) + mutant.replacement + text.slice(mutant.end);
}

/** A failure with the tests of which one failed. */
interface Failure {
  readonly tests: readonly string[];
  readonly text: string;
}

/** Text of the first failure that the change causes; undefined for none. A test that then fails without the change as well says nothing. */
async function noticedBy(
  place: Place,
  copy: ProductCopy,
  reach: Reach,
  limitMs: number,
): Promise<string | undefined> {
  const { file, mutant } = place;
  const reaching = testsAt(reach, file, readFileSync(join(copy.root, file), 'utf8'), mutant.start);
  const waiting = [...chunksOf(testsWithin(limitMs, reach, reaching), reach)];
  const change = (text: string) => changed(text, place);
  for (let tests = waiting.shift(); tests !== undefined; tests = waiting.shift()) {
    const chunk = tests;
    if (RUN_ONCE.test(file)) await copy.endTests();
    const failure = await copy.with([file], change, () => failureOf(chunk, copy, reach));
    if (RUN_ONCE.test(file)) await copy.endTests();
    if (failure === undefined) continue;
    if ((await failureOf(failure.tests, copy, reach)) === undefined) return failure.text;
    if (await failsInFreshProcess(failure.tests, [file], change, copy, reach)) return failure.text;
    const others = chunk.filter((test) => !failure.tests.includes(test));
    if (others.length > 0) waiting.unshift(others);
  }
  return undefined;
}

/** Whether tests fail with the change alone, each time in a process of their own: a module that could not be imported stays so in its
 *  process. */
async function failsInFreshProcess(
  tests: readonly string[],
  files: readonly string[],
  change: (text: string) => string,
  copy: ProductCopy,
  reach: Reach,
): Promise<boolean> {
  await copy.endTests();
  const withChange = await copy.with(files, change, () => failureOf(tests, copy, reach));
  await copy.endTests();
  return withChange !== undefined && (await failureOf(tests, copy, reach)) === undefined;
}

/** The first tests that take `limitMs` together without a change, and the thorough ones. */
function testsWithin(limitMs: number, reach: Reach, tests: readonly string[]): readonly string[] {
  let leftMs = limitMs;
  return tests.filter((test) => {
    if (THOROUGH.includes(test)) return true;
    const tookMs = reach.tests[test]?.tookMs ?? 0;
    if (tookMs > leftMs) return false;
    leftMs -= tookMs;
    return true;
  });
}

/** Tests that are run at once: ever more of them, and each run of the simulation alone. */
function chunksOf(tests: readonly string[], reach: Reach): readonly (readonly string[])[] {
  const chunks: string[][] = [[]];
  let tookMs = 0;
  for (const test of tests) {
    const last = chunks.at(-1) as string[];
    const [first = test] = last;
    const isAlone = [test, first].some((each) => each in WORLDS) || !isInSameProcess(test, first);
    if (last.length > 0 && (isAlone || tookMs > 2_000 * 3 ** chunks.length)) {
      chunks.push([test]);
      tookMs = 0;
    } else last.push(test);
    tookMs += reach.tests[test]?.tookMs ?? 0;
  }
  return chunks.filter((chunk) => chunk.length > 0);
}

function isInSameProcess(a: string, b: string): boolean {
  return isDeepStrictEqual(fileAndEnvironment(a).environment, fileAndEnvironment(b).environment);
}

async function failureOf(
  tests: readonly string[],
  copy: ProductCopy,
  reach: Reach,
): Promise<Failure | undefined> {
  const limitMs = 3 * Math.max(...tests.map((test) => reach.tests[test]?.tookMs ?? 0)) + PATIENCE_MS;
  const [first = ''] = tests;
  if (first in WORLDS) {
    const outcome = await copy.run(commandOf(first), limitMs);
    if (outcome === 'PASSED') return undefined;
    return { tests, text: outcome === 'FAILED' ? first : `${first} (no end)` };
  }
  const files = tests.map((test) => fileAndEnvironment(test).file);
  const { environment } = fileAndEnvironment(first);
  const response = await copy.test({ tests: files, except: [], bail: true }, limitMs, environment);
  if (response === 'TIMED_OUT') return { tests, text: `${tests.join(', ')} (no end)` };
  const [failure] = response.failed;
  if (failure === undefined) return undefined;
  const text = `${failure.test}: ${failure.message.split('\n')[0]}`.slice(0, MAX_TEXT_LENGTH);
  const test = nameInGroup(failure.test, first);
  return { tests: tests.includes(test) ? [test] : tests, text };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      sample: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      folder: { type: 'string', multiple: true, default: [...FOLDERS] },
      threads: { type: 'string', default: '1' },
      skip: { type: 'string' },
      only: { type: 'string' },
      limit: { type: 'string', default: '120' },
      reach: { type: 'string' },
      'at-least': { type: 'string', default: '90' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const unknown = values.folder.find((folder) => !FOLDERS.includes(folder));
  if (values.skip !== undefined && values.only !== undefined) throw new Error('--only needs no --skip');
  if (unknown !== undefined) throw new Error(`unknown folder ${JSON.stringify(unknown)}\n\n${HELP}`);
  const all = values.folder.flatMap(placesIn);
  const sample = draw(all, wholeNumber('sample', values.sample), wholeNumber('seed', values.seed));
  console.log(`${sample.length} of ${all.length} changes, by seed ${values.seed}`);
  const copies = await Promise.all(
    Array.from({ length: wholeNumber('threads', values.threads) }, () => ProductCopy.of(ROOT)),
  );
  const stop = () => void Promise.all(copies.map((copy) => copy.remove())).finally(() => process.exit(130));
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    const nonempty = copies as [ProductCopy, ...ProductCopy[]];
    const reachPath = values.reach ?? join(nonempty[0].root, 'reach.json');
    const reach = await recordReach(reachPath, nonempty, FOLDERS.flatMap(filesOf));
    const skipped = values.skip === undefined ? 0 : wholeNumber('skip', values.skip);
    const only = values.only?.split(',').map((number) => wholeNumber('only', number));
    const chosen = sample.filter((_, at) => (only ? only.includes(at + 1) : at >= skipped));
    if (chosen.length === 0) throw new Error('--skip and --only leave nothing of the sample');
    const limitMs = 1000 * wholeNumber('limit', values.limit);
    const unnoticed = await tryAll({ sample, chosen }, copies, reach, limitMs);
    report(chosen.length, unnoticed, wholeNumber('at-least', values['at-least']));
  } finally {
    await Promise.all(copies.map((copy) => copy.remove()));
  }
}

/** Tries the chosen changes of a sample; gives those that no test notices. */
async function tryAll(
  { sample, chosen }: { readonly sample: readonly Place[]; readonly chosen: readonly Place[] },
  copies: readonly ProductCopy[],
  reach: Reach,
  limitMs: number,
): Promise<readonly Place[]> {
  const unnoticed: Place[] = [];
  const waiting = [...chosen];
  await Promise.all(
    copies.map(async (copy) => {
      for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) {
        const number = sample.indexOf(place) + 1;
        const startedMs = performance.now();
        const noticed = await noticedBy(place, copy, reach, limitMs);
        if (noticed === undefined) unnoticed.push(place);
        const verdict = noticed === undefined ? 'UNNOTICED' : `noticed by ${noticed}`;
        const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
        console.log(`[${number}/${sample.length}] ${seconds} s ${describe(place)}: ${verdict}`);
      }
    }),
  );
  return unnoticed;
}

function describe({ file, line, mutant }: Place): string {
  return `${file}:${line} ${mutant.change}`;
}

function report(count: number, unnoticed: readonly Place[], atLeastPercent: number): void {
  const percent = (100 * (count - unnoticed.length)) / count;
  for (const place of unnoticed) console.log(`UNNOTICED ${describe(place)}`);
  console.log(`noticed ${count - unnoticed.length} of ${count}, ${percent.toFixed(1)} %`);
  if (percent < atLeastPercent) process.exitCode = 1;
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});

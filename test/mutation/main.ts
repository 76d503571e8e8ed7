/** `npm run mutate`: changes the product's code in places that a seed draws, and prints which changes no test notices. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { seededRandom } from '../support/random.js';
import { type Mutant, mutantsOf } from './mutants.js';
import { ProductCopy } from './product-copy.js';
import { SUITES_OF, type Suite } from './suites.js';

const HELP = `npm run mutate -- [options]

Options:
  --sample N      number of changes, 200 by default
  --seed N        seed that draws them, 1 by default
  --folder F      only in this folder: ${Object.keys(SUITES_OF).join(', ')}; all of these by default
  --threads N     number of changes that are tried at once, 1 by default
  --at-least P    fails when fewer than P percent are noticed, 90 by default
`;

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
/** Time that a suite may take beyond five times its own, for a busy machine. */
const PATIENCE_MS = 120_000;
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

/** All places of a folder. */
function placesIn(folder: string): readonly Place[] {
  const tracked = execFileSync('git', ['ls-files', '-z', `${folder}/*.ts`], { cwd: ROOT }).toString();
  const files = tracked.split('\0').filter((file) => file !== '' && !NOT_PRODUCT.test(file));
  return files.flatMap((file) => {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const lineAt = (place: number) => text.slice(0, place).split('\n').length;
    return mutantsOf(text).map((mutant) => ({ folder, file, line: lineAt(mutant.start), mutant }));
  });
}

function draw(places: readonly Place[], count: number, seed: number): readonly Place[] {
  const random = seededRandom(seed);
  const left = [...places];
  return Array.from({ length: Math.min(count, left.length) }, () => {
    const [place] = left.splice(random.below(left.length), 1);
    return place as Place;
  });
}

/** Runs each suite once without a change. Throws when one fails. Gives the time that each may take, in milliseconds. */
async function limitsOf(suites: readonly Suite[], copy: ProductCopy): Promise<ReadonlyMap<string, number>> {
  const limits = new Map<string, number>();
  for (const { name, command } of suites) {
    if (limits.has(name)) continue;
    const startedMs = performance.now();
    const outcome = await copy.run(command, 3_600_000);
    if (outcome !== 'PASSED') throw new Error(`the suite ${name} fails without any change: ${outcome}`);
    const tookMs = performance.now() - startedMs;
    console.log(`without a change: ${name}, ${(tookMs / 1000).toFixed(0)} s`);
    limits.set(name, 5 * tookMs + PATIENCE_MS);
  }
  return limits;
}

/** Name of the first suite that notices the change; undefined for none. */
async function noticedBy(
  { folder, file, mutant }: Place,
  copy: ProductCopy,
  limits: ReadonlyMap<string, number>,
): Promise<string | undefined> {
  return copy.with(file, mutant, async () => {
    for (const { name, command } of SUITES_OF[folder] ?? []) {
      const outcome = await copy.run(command, limits.get(name) ?? PATIENCE_MS);
      if (outcome !== 'PASSED') return outcome === 'FAILED' ? name : `${name} (no end)`;
    }
    return undefined;
  });
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      sample: { type: 'string', default: '200' },
      seed: { type: 'string', default: '1' },
      folder: { type: 'string', multiple: true, default: Object.keys(SUITES_OF) },
      threads: { type: 'string', default: '1' },
      'at-least': { type: 'string', default: '90' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return console.log(HELP);
  const unknown = values.folder.find((folder) => SUITES_OF[folder] === undefined);
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
    const unnoticed = await tryAll(sample, copies);
    report(sample.length, unnoticed, wholeNumber('at-least', values['at-least']));
  } finally {
    await Promise.all(copies.map((copy) => copy.remove()));
  }
}

/** Tries each change; gives those that no suite notices. */
async function tryAll(sample: readonly Place[], copies: readonly ProductCopy[]): Promise<readonly Place[]> {
  const [first] = copies;
  const folders = [...new Set(sample.map(({ folder }) => folder))];
  const suites = folders.flatMap((folder) => SUITES_OF[folder] ?? []);
  const limits = first === undefined ? new Map<string, number>() : await limitsOf(suites, first);
  const unnoticed: Place[] = [];
  const waiting = [...sample];
  await Promise.all(
    copies.map(async (copy) => {
      for (let place = waiting.shift(); place !== undefined; place = waiting.shift()) {
        const suite = await noticedBy(place, copy, limits);
        if (suite === undefined) unnoticed.push(place);
        const verdict = suite === undefined ? 'UNNOTICED' : `noticed by ${suite}`;
        console.log(`[${sample.length - waiting.length}/${sample.length}] ${describe(place)}: ${verdict}`);
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

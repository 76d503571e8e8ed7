/** Which tests reach which functions of the product. */
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { dirname, join, relative } from 'node:path';
import ts from 'typescript';
import type { ProductCopy } from './product-copy.js';
import {
  CODE_OF_POSTGRES,
  commandOf,
  fileAndEnvironment,
  LEFT_OUT,
  nameInGroup,
  TESTS,
  TESTS_ON_POSTGRES,
  WORLDS,
} from './suites.js';

const HOUR_MS = 3_600_000;

/** Place of a function: its file, and its first character; a file alone for its code outside of functions. */
type Region = string;

/** Findings of a recorded run. */
export interface Reach {
  /** Tests by name: files, and runs of the simulation. */
  readonly tests: Record<string, { readonly tookMs: number; readonly regions: readonly Region[] }>;
  /** Tests that fail without any change, which cannot notice one. */
  readonly failing: string[];
  /** Groups of tests that were run. */
  readonly groups: string[];
  /** Digest of the code that was run. */
  readonly code: string;
}

/** Reads what a file says of this code, runs what it lacks with calls in each function of `files`, a group in each copy at a time,
 *  and writes it. */
export async function recordReach(
  path: string,
  copies: readonly [ProductCopy, ...ProductCopy[]],
  files: readonly string[],
): Promise<Reach> {
  const code = await digestOf(files.map((file) => join(copies[0].root, file)));
  const kept = await readFile(path, 'utf8').then(
    (text) => JSON.parse(text) as Reach,
    () => undefined,
  );
  const reach = kept?.code === code ? kept : { tests: {}, failing: [], groups: [], code };
  const groups = [...TESTS_ON_POSTGRES, ...TESTS.map((group) => group.join(' ')), ...Object.keys(WORLDS)];
  const missing = groups.filter((group) => !reach.groups.includes(group));
  const recordMissing = async (copy: ProductCopy): Promise<void> => {
    for (let group = missing.shift(); group !== undefined; group = missing.shift()) {
      await recordGroup(group, copy, reach);
      reach.groups.push(group);
      writeFileSync(path, JSON.stringify(reach));
    }
    await copy.endTests();
  };
  const neededCopies = copies.slice(0, missing.length);
  await Promise.all(neededCopies.map((copy) => copy.with(files, withReachCalls, () => recordMissing(copy))));
  return reach;
}

async function digestOf(paths: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const path of paths) hash.update(await readFile(path));
  return hash.digest('hex');
}

async function recordGroup(group: string, copy: ProductCopy, reach: Reach): Promise<void> {
  const reachedIn = join(copy.root, 'reached.txt');
  await rm(reachedIn, { force: true });
  copy.environment = {
    NODE_OPTIONS: `--import ${join(copy.root, 'test/mutation/record-reached.mjs')}`,
    REACHED_IN: reachedIn,
    ...(group in WORLDS ? { REACHED_BY: join(copy.root, group) } : {}),
  };
  const startedMs = performance.now();
  const tookMs = await runGroup(group, copy, reach);
  copy.environment = {};
  await copy.endTests();
  const reached = new Map(Object.keys(tookMs).map((test) => [test, new Set<Region>()]));
  for (const line of (await readFile(reachedIn, 'utf8')).split('\n')) {
    const [test = '', region = ''] = line.split('\t');
    if (TESTS_ON_POSTGRES.includes(group) && !region.startsWith(CODE_OF_POSTGRES)) continue;
    reached.get(nameInGroup(relative(copy.root, test), group))?.add(region);
  }
  for (const [test, regions] of reached) {
    reach.tests[test] = { tookMs: tookMs[test] ?? 0, regions: [...regions] };
  }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(0);
  console.log(`without a change: ${group}, ${reached.size} tests, ${seconds} s`);
}

/** Runs a group; gives the time that each of its tests took, in milliseconds. */
async function runGroup(
  group: string,
  copy: ProductCopy,
  { failing }: Reach,
): Promise<Readonly<Record<string, number>>> {
  if (group in WORLDS) {
    const startedMs = performance.now();
    const outcome = await copy.run(commandOf(group), HOUR_MS);
    if (outcome !== 'PASSED') failing.push(group);
    return { [group]: Math.round(performance.now() - startedMs) };
  }
  const { file, environment } = fileAndEnvironment(group);
  const tests = file.split(' ');
  // A folder that is a group of its own is left out of the group of the folder around it.
  const inOtherGroups = TESTS.flat().filter((each) => isWithin(each, tests) && !tests.includes(each));
  const request = { tests, except: [...LEFT_OUT, ...inOtherGroups], bail: false };
  const response = await copy.test(request, HOUR_MS, environment);
  if (response === 'TIMED_OUT') throw new Error(`${group} does not end`);
  for (const { test, message } of response.failed) {
    console.log(`fails without a change: ${test}: ${message}`);
    failing.push(nameInGroup(test, group));
  }
  const named = Object.entries(response.tookMs).map(([test, ms]) => [nameInGroup(test, group), ms] as const);
  return Object.fromEntries(named);
}

function isWithin(folder: string, folders: readonly string[]): boolean {
  return folders.some((each) => folder.startsWith(each));
}

/** Tests that reach the function around a place, those that look at least else and end soonest first. */
export function testsAt(reach: Reach, file: string, text: string, place: number): readonly string[] {
  const region = regionOf(file, text, place);
  // Code outside of functions runs once for many test files: those count that reach a function of its file, or, for a file
  // without functions, of its folder.
  const near = bodiesOf(text).length > 0 ? `${file}:` : `${dirname(file)}/`;
  const reaches = ({ regions }: Reach['tests'][string]) =>
    region === file ? regions.some((each) => each.startsWith(near)) : regions.includes(region);
  return Object.entries(reach.tests)
    .filter(([test, each]) => !reach.failing.includes(test) && reaches(each))
    .sort(([, a], [, b]) => cost(a) - cost(b))
    .map(([test]) => test);
}

function cost({ tookMs, regions }: Reach['tests'][string]): number {
  return (tookMs + 200) * Math.sqrt(regions.length);
}

/** Region of the innermost function with a body of statements around a place. */
function regionOf(file: string, text: string, place: number): Region {
  const around = bodiesOf(text).filter(({ pos, end }) => pos <= place && place < end);
  const starts = around.map(({ pos }) => pos);
  return starts.length === 0 ? file : `${file}:${Math.max(...starts)}`;
}

/** Source text that calls `globalThis.__reached` with each region that runs. */
export function withReachCalls(text: string, file: string): string {
  let found = text;
  const calls = bodiesOf(text).map((body) => ({
    at: body.getStart() + 1,
    region: `${file}:${body.pos}`,
  }));
  for (const { at, region } of calls.toSorted((a, b) => b.at - a.at)) {
    found = `${found.slice(0, at)}globalThis.__reached?.(${JSON.stringify(region)});${found.slice(at)}`;
  }
  return found;
}

function bodiesOf(text: string): readonly ts.Node[] {
  const file = ts.createSourceFile('source.ts', text, ts.ScriptTarget.Latest, true);
  const bodies: ts.Node[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isBlock(node) && ts.isFunctionLike(node.parent)) bodies.push(node);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return bodies;
}

/**
 * Prints for each endpoint the statuses that the tests saw, with their counts. A run of all contract tests in which an
 * endpoint never succeeded fails.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vitest/config';
import type { Reporter, TestModule } from 'vitest/node';
import type { Exercised } from './exercised.js';

const CONTRACT_TESTS = 'test/contract';

/** Adds this report to the reporters of the command line. */
export function exerciseReport(): Plugin {
  return {
    name: 'exercise-report',
    configureVitest: ({ vitest, project }) => {
      // Each project configures its plugins, and one table is enough.
      const [first] = vitest.projects;
      if (project === first) vitest.config.reporters.push(reporterOf(vitest.config.root));
    },
  };
}

function reporterOf(root: string): Reporter {
  return {
    onTestRunEnd: (modules) => {
      const found = modules.flatMap((module) => module.meta().exercised ?? []);
      if (found.length === 0) return;
      const { lines, left } = tableOf(found);
      console.log(`\nThe interface as the tests exercised it (status × responses):\n${lines.join('\n')}\n`);
      if (left.length === 0 || !isComplete(modules, root)) return;
      console.error(`Never seen to succeed: ${left.join(', ')}. This run fails.`);
      process.exitCode = 1;
    },
  };
}

/** The lines of the table, and the operations that never succeeded. */
function tableOf(found: readonly Exercised[]): { lines: string[]; left: string[] } {
  const operations = [...new Set(found.flatMap((file) => file.operations))].sort(byPath);
  const width = Math.max(...operations.map((operation) => operation.length));
  const left: string[] = [];
  const lines = operations.map((operation) => {
    const counts = new Map<string, number>();
    for (const { answers } of found) {
      for (const [status, count] of Object.entries(answers[operation] ?? {})) {
        counts.set(status, (counts.get(status) ?? 0) + count);
      }
    }
    if (![...counts.keys()].some((status) => status.startsWith('2'))) left.push(operation);
    const seen = [...counts].sort().map(([status, count]) => `${status} × ${count}`);
    return `  ${operation.padEnd(width)}  ${seen.join(', ') || 'NEVER'}`;
  });
  return { lines, left };
}

function byPath(a: string, b: string): number {
  const [pathOfA, pathOfB] = [a, b].map((operation) => operation.slice(operation.indexOf(' ')));
  return `${pathOfA}` < `${pathOfB}` ? -1 : `${pathOfA}` > `${pathOfB}` ? 1 : a < b ? -1 : 1;
}

/** Whether all contract tests ran to their end; a missing call means nothing otherwise. */
function isComplete(modules: readonly TestModule[], root: string): boolean {
  const ran = new Set(modules.filter((module) => everyTestRan(module)).map(({ moduleId }) => moduleId));
  const folder = join(root, CONTRACT_TESTS);
  const files = readdirSync(folder).filter((name) => name.endsWith('.test.ts'));
  return files.every((name) => ran.has(join(folder, name)));
}

function everyTestRan(module: TestModule): boolean {
  for (const test of module.children.allTests()) if (test.result().state === 'skipped') return false;
  return module.state() === 'passed' || module.state() === 'failed';
}

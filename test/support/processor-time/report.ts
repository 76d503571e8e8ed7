/** Prints the test files that took most processor time: on a busy machine the time of a clock tells nothing. */
import type { Plugin } from 'vitest/config';
import type { Reporter } from 'vitest/node';

const SHOWN = 40;
/** Files from which there is a table. */
const FEWEST = 100;

/** Adds this report to the reporters of the command line. */
export function processorTimeReport(): Plugin {
  return {
    name: 'processor-time-report',
    configureVitest: ({ vitest, project }) => {
      // Each project configures its plugins, and one table is enough.
      if (project === vitest.projects[0]) vitest.config.reporters.push(reporter);
    },
  };
}

const reporter: Reporter = {
  onTestRunEnd: (modules) => {
    if (modules.length < FEWEST) return;
    const files = modules.map((module) => ({
      name: module.relativeModuleId,
      seconds: (module.meta().processorMs ?? 0) / 1000,
    }));
    const seconds = files.reduce((sum, file) => sum + file.seconds, 0);
    console.log(`\nProcessor time of ${files.length} test files: ${seconds.toFixed(0)} s, most of it of`);
    for (const file of files.toSorted((a, b) => b.seconds - a.seconds).slice(0, SHOWN)) {
      console.log(`${file.seconds.toFixed(1).padStart(7)} s  ${file.name}`);
    }
  },
};

/** Prints the first failure of a run in full when it happens; the others follow at the end of the run. */
import type { Plugin } from 'vitest/config';
import type { Reporter, SerializedError, TestCase, TestModule } from 'vitest/node';

/** Adds this report to the reporters of the command line. */
export function firstFailureReport(): Plugin {
  return {
    name: 'first-failure-report',
    configureVitest: ({ vitest, project }) => {
      const [first] = vitest.projects;
      if (project === first) vitest.config.reporters.push(new FirstFailureReporter());
    },
  };
}

class FirstFailureReporter implements Reporter {
  #isPrinted = false;

  onTestCaseResult(test: TestCase): void {
    const { state, errors } = test.result();
    if (state === 'failed') this.#print(`${test.module.relativeModuleId} > ${test.fullName}`, errors);
  }

  /** Reports files that could not be loaded, and hooks that failed. */
  onTestModuleEnd(module: TestModule): void {
    const inSuites = [...module.children.allSuites()].flatMap((suite) => suite.errors());
    const errors = [...module.errors(), ...inSuites];
    if (errors.length > 0) this.#print(module.relativeModuleId, errors);
  }

  #print(where: string, errors: readonly SerializedError[]): void {
    if (this.#isPrinted) return;
    this.#isPrinted = true;
    const texts = errors.map(({ stack = '', message, diff = '' }) =>
      // The stack of a timeout lacks its message.
      [stack.includes(message) ? '' : message, stack, diff].filter((text) => text !== '').join('\n'),
    );
    console.error(`\nFIRST FAILURE: ${where}\n${texts.join('\n')}\n`);
  }
}

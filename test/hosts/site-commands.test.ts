/** The driver for the site's own commands, with a small workload manager in the shell. */
import { describe } from 'vitest';
import { siteCommandsUnderTest } from './site-commands-under-test.js';
import { describeWorkloadManager } from './workload-manager-suite.js';

/** Treats its words as ssh does. */
const AS_SSH = ['sh', '-c', 'exec sh -c "$*"', 'ssh'];

describe("a workload manager by the site's commands", () =>
  describeWorkloadManager(() => siteCommandsUnderTest([]), ['slow', 'quota', 'stuck']));

describe("a workload manager by the site's commands on another machine", () =>
  describeWorkloadManager(() => siteCommandsUnderTest(AS_SSH), ['slow', 'quota', 'stuck']));

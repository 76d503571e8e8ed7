/** The program `workbench-runner`. */
import { readFileSync } from 'node:fs';
import { runRunner } from './run.js';
import { nodeOfRunner } from './script-node.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

await runRunner(process.argv.slice(2), { version, prepareNode: nodeOfRunner });

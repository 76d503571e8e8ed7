/**
 * The program `workbench-agent` as one executable file: the agent, `workbench-runner` as its command `runner`, and the Node.js of scripts.
 * `npm run package` bundles it as a CommonJS module, which has no top-level await.
 */
import { isScriptWanted, runScript } from './node-of-scripts.js';

if (isScriptWanted()) runScript();
else if (process.argv[2] === 'runner') void runAsRunner(process.argv.slice(3));
else void runAsAgent();

async function runAsRunner(parameters: string[]): Promise<void> {
  const { runRunner } = await import('@workbench-hub/runner/run');
  const { buildInfo } = await import('@workbench-hub/shared/runtime/build-info');
  const { prepareNodeInside } = await import('./node-of-scripts.js');
  await runRunner(parameters, { version: buildInfo.version, prepareNode: prepareNodeInside });
}

async function runAsAgent(): Promise<void> {
  const { commandOfFile } = await import('./command-of-file.js');
  await commandOfFile().parseAsync();
}

/**
 * The program `workbench-agent` as one executable file: the agent, `workbench-runner` as its command `runner`, `workbench-mujoco` as its
 * command `mujoco`, and the Node.js of scripts.
 * `npm run package` bundles it as a CommonJS module, which has no top-level await. The agent and its launcher are others: neither a
 * runner nor a script has to read them.
 */

import { LAUNCH_VARIABLE } from '@workbench-hub/agent/core/ports/launcher';
import { runRunner } from '@workbench-hub/runner/run';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { runModuleInside } from './module-inside.js';
import { isScriptWanted, prepareNodeInside, runProgram, runScript } from './node-of-scripts.js';

if (isScriptWanted()) {
  runScript();
} else if (process.argv[2] === 'runner') {
  void runRunner(process.argv.slice(3), { version: buildInfo.version, prepareNode: prepareNodeInside });
} else if (process.argv[2] === 'mujoco') {
  runProgram();
} else {
  runModuleInside(process.env[LAUNCH_VARIABLE] === undefined ? 'launch.cjs' : 'agent.cjs');
}

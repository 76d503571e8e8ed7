/** The program `workbench-agent`: arguments, signals and exit codes. */
import { join } from 'node:path';
import { loadConfig } from '@workbench-hub/shared/config/load';
import { buildInfo } from '@workbench-hub/shared/runtime/build-info';
import { runLogged } from '@workbench-hub/shared/runtime/run-logged';
import { EXIT } from '@workbench-hub/shared/runtime/run-program';
import { Command } from 'commander';
import { createAgent } from './agent.js';
import { agentConfigSchema, ENVIRONMENT_PREFIX } from './config.js';

const command = new Command('workbench-agent')
  .description('Holds workbench instances on a simulation host and joins a hub.')
  .option('-c, --config <file>', 'the configuration, a YAML file; without it every key has its default')
  .option(
    '--check-config',
    'print what is wrong with the configuration, one fault a line, and exit with 2, or with 0',
  )
  .version(buildInfo.version, '--version')
  .addHelpText(
    'after',
    `\nEvery key can be overridden by the environment: ${ENVIRONMENT_PREFIX}_DATA_DIR is dataDir.\nExit codes: 0 stopped by a signal; 1 stopped by a defect; 2 the start was refused.`,
  )
  .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.OK : EXIT.REFUSED))
  .parse();

const options = command.opts<{ config?: string; checkConfig?: boolean }>();
const loaded = loadConfig({
  schema: agentConfigSchema,
  file: options.config ?? null,
  environment: process.env,
  environmentPrefix: ENVIRONMENT_PREFIX,
});

if ('faults' in loaded) {
  for (const fault of loaded.faults) console.error(fault);
  process.exitCode = EXIT.REFUSED;
} else if (options.checkConfig) {
  console.log('The configuration is valid.');
} else {
  const { config } = loaded;
  const { level } = config.log;
  const file = config.log.file ?? join(config.dataDir, 'logs', 'agent.log');
  const { version, revision } = buildInfo;
  await runLogged({ name: 'agent', level, file }, (log) =>
    createAgent(config, { log, version, revision, environment: process.env }),
  );
}

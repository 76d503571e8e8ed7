/** The command line of the agent with the commands that only the single file has. */
import { getAsset } from 'node:sea';
import { agentCommand } from '@workbench-hub/agent/command-line';
import { addServiceCommand } from './service/service-command.js';

// Its arguments are those of the runner: main.ts takes them before they come here.
agentCommand
  .command('runner')
  .description(
    'Is workbench-runner, which an agent starts as an instance: "runner --help" shows its options.',
  );
agentCommand
  .command('licenses')
  .description('Prints what is inside this file, and under which licenses.')
  .action(() => {
    // A pager may read only the beginning.
    process.stdout.on('error', () => undefined);
    process.stdout.write(getAsset('licenses.txt', 'utf8'));
  });
addServiceCommand(agentCommand);
void agentCommand.parseAsync();

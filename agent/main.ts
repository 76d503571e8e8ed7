/** The program `workbench-agent`. */
import { agentCommand } from './command-line.js';

await agentCommand.parseAsync();

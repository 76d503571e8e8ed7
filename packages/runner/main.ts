import { readFileSync } from 'node:fs';
import { serveProgram } from '@workbench-hub/shared/instance-protocol/program';
import { readCommandLine, USAGE } from './command-line.js';
import { runnerProgram } from './runner-program.js';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const commandLine = readCommandLine(process.argv.slice(2));
switch (commandLine.kind) {
  case 'help':
    process.stdout.write(USAGE);
    break;
  case 'version':
    process.stdout.write(`${version}\n`);
    break;
  case 'refused':
    process.stderr.write(`workbench-runner: ${commandLine.message}\n\n${USAGE}`);
    process.exitCode = 2;
    break;
  case 'serve': {
    const [command = '', ...args] = commandLine.interpreter;
    const stop = new AbortController();
    process.once('SIGTERM', () => stop.abort());
    process.once('SIGINT', () => stop.abort());
    await serveProgram(runnerProgram(version, { command, args }), { stop: stop.signal });
    process.exit(0);
  }
}

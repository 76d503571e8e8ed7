import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { serveProgram } from '@workbench-hub/shared/instance-protocol/program';
import { DEFAULT_ISOLATION, ISOLATIONS } from './isolation.js';
import { mujocoProgram } from './mujoco-program.js';

const USAGE = `workbench-mujoco: the MuJoCo workbench; simulates MJCF models by JavaScript

Usage: workbench-mujoco [--isolation thread|realm|none]

An agent starts it as an instance (\`command\` in the instance's configuration) and talks to it over standard
input and output, as packages/docs/instance-protocol.md describes. Standard error is its log. What scripts
find at hand is in packages/docs/mujoco.md.

Options:
  --isolation what the jobs of the instance share: nothing, with a thread for each job (thread), or with a
              realm for each job whose scripts need nothing of Node.js (realm, the default); or everything (none)
  --version   print the version and exit
  --help      print this and exit
`;

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean' },
      isolation: { type: 'string', default: DEFAULT_ISOLATION },
    },
  });
  const isolation = ISOLATIONS.find((known) => known === values.isolation);
  if (values.help) process.stdout.write(USAGE);
  else if (values.version) process.stdout.write(`${version}\n`);
  else if (isolation === undefined) {
    process.stderr.write(
      `workbench-mujoco: --isolation is ${ISOLATIONS.join(', ')}, not ${JSON.stringify(values.isolation)}\n\n${USAGE}`,
    );
    process.exitCode = 2;
  } else {
    const stop = new AbortController();
    process.once('SIGTERM', () => stop.abort());
    process.once('SIGINT', () => stop.abort());
    await serveProgram(mujocoProgram(version, isolation), { stop: stop.signal });
    process.exit(0);
  }
}

await main().catch((error: NodeJS.ErrnoException) => {
  if (error.code?.startsWith('ERR_PARSE_ARGS') !== true) throw error;
  process.stderr.write(`workbench-mujoco: ${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
});

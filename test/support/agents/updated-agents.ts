/** Agents as one file that hubs update, as real programs. */
import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { base64 } from '../interface/rest-client.js';
import { type Program, startCommand } from '../programs/programs.js';
import { keepSecret } from '../secrets.js';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
export const AGENT_ID = 'host-of-one-file';
/** A version that is older than that of the hub, and one that is newer. */
export const OLD = '0.0.1';
export const NEWER = '999.0.0';
export const SYSTEM = `linux-${process.arch}`;

/** A hub, and the folder of its configuration. */
export interface UpdatingHub {
  readonly baseUrl: string;
  readonly folder: string;
}

/** Makes the file of a version in a folder, as `npm run package` does. */
export async function packageAgent(version: string, out: string): Promise<void> {
  const options = ['--only', 'file', '--systems', SYSTEM, '--as-built', '--version', version];
  await run(process.execPath, ['deploy/package.mjs', ...options, '--out', out], {
    cwd: ROOT,
  });
}

/** Path of the file that {@link packageAgent} has made in a folder. */
export const packagedAgent = (folder: string, version: string) =>
  join(folder, `workbench-agent-${version}-${SYSTEM}`);

export interface InstalledAgent {
  /** Path of the installed file. */
  readonly agent: string;
  readonly config: string;
  readonly dataDir: string;
  readonly start: () => Program;
}

/** Installs a file as an agent in the folder `host` of a site, and enrolls it at the first of the hubs. */
export async function installAgent(
  site: string,
  file: string,
  [hub, ...others]: readonly [UpdatingHub, ...UpdatingHub[]],
  labels: readonly string[] = [],
): Promise<InstalledAgent> {
  const folder = join(site, 'host');
  // A test may have mounted a disk inside.
  mkdirSync(folder, { recursive: true });
  const agent = join(folder, 'workbench-agent');
  copyFileSync(file, agent);
  const config = join(folder, 'agent.yaml');
  const dataDir = join(folder, 'data');
  writeFileSync(
    config,
    JSON.stringify({
      id: AGENT_ID,
      hub: [hub, ...others].map(({ baseUrl }) => baseUrl.replace('http', 'ws')),
      dataDir,
      instances: [{ id: 'node', version: '1', labels }],
    }),
  );
  const enroll = ['--config', join(hub.folder, 'hub.yaml'), 'agent', 'enroll', AGENT_ID];
  // The link of a hub to its database may be in this process.
  const made = await run(process.execPath, [join(ROOT, 'hub/bin/workbench-hub.js'), ...enroll]);
  const code = made.stdout.trim();
  keepSecret(code);
  const enrolling = run(agent, ['enroll', '--config', config]);
  enrolling.child.stdin?.end(code);
  await enrolling;
  keepSecret(readFileSync(join(dataDir, 'credential'), 'utf8').trim());
  return { agent, config, dataDir, start: () => startCommand([agent, '--config', config], folder) };
}

interface UpdateAnswer {
  readonly status: number;
  readonly body: {
    readonly phase?: string;
    readonly running?: string;
    readonly problem?: string;
    readonly failed?: object;
  };
}

async function asked(
  { baseUrl }: Pick<UpdatingHub, 'baseUrl'>,
  method: string,
  query = '',
): Promise<UpdateAnswer> {
  const response = await fetch(`${baseUrl}/api/x/agents/${AGENT_ID}/update${query}`, { method });
  return { status: response.status, body: (await response.json()) as UpdateAnswer['body'] };
}

/** State of the update of the agent, as a hub tells it. */
export const updateState = (hub: Pick<UpdatingHub, 'baseUrl'>) => asked(hub, 'GET');
/** Orders the update of the agent. */
export const orderUpdate = (hub: Pick<UpdatingHub, 'baseUrl'>) => asked(hub, 'POST');
/** Orders it also to a version that has failed there, or could not be tried lately. */
export const orderUpdateAgain = (hub: Pick<UpdatingHub, 'baseUrl'>) => asked(hub, 'POST', '?again=true');

/** A job of a script that may read and write files. */
export function scriptJob(script: string) {
  return {
    inputScripts: [{ content: base64(`import { existsSync, writeFileSync } from 'node:fs';\n${script}`) }],
  };
}

/** Script that writes the file `begun`, waits for the file `go`, and then tells which program has run it. */
export function waitingScript(site: string): string {
  const path = (name: string) => JSON.stringify(join(site, name));
  return `writeFileSync(${path('begun')}, '');
while (!existsSync(${path('go')})) await new Promise((resolve) => setTimeout(resolve, 20));
${TELLS_ITS_PROGRAM}`;
}

/** Script whose output is the path of the agent that has run it. */
export const TELLS_ITS_PROGRAM = "writeFileSync('v.txt', process.execPath);";

/**
 * JetStream of NATS, synced before each acknowledgment (`always`), or every two minutes only as by default (`unsynced`), which
 * all versions can. It has no priorities: an urgent task overtakes those that wait in the server, not those that a worker has.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, installed, listens, ServerProgram } from '../subjects/server-program.js';
import { type PeerServer, peerSubject } from './peer.js';

/** The first version that can sync each message. */
const SYNCS_FROM = { major: 2, minor: 10 } as const;

const INSTALL = 'apt-get install nats-server';

export const natsAlways = peerSubject({
  name: 'nats always',
  peer: 'nats',
  variant: 'always',
  missing: () => {
    const installedOne = version();
    if (installedOne !== undefined && canSync(installedOne)) return undefined;
    return `nats-server ${SYNCS_FROM.major}.${SYNCS_FROM.minor} or newer is not installed (${INSTALL}, from Debian 13 on)`;
  },
  startServer: (folder) => startServer(folder, ', sync_interval: always'),
});

export const natsUnsynced = peerSubject({
  name: 'nats unsynced',
  peer: 'nats',
  variant: 'unsynced',
  missing: () => (program() ? undefined : `nats-server is not installed (${INSTALL})`),
  startServer: (folder) => startServer(folder, ''),
});

function program(): string | undefined {
  return installed('nats-server');
}

/** Output of `--version`, such as `nats-server: v2.10.27`; undefined when it is not installed. */
function version(): string | undefined {
  const file = program();
  return file && execFileSync(file, ['--version'], { encoding: 'utf8' });
}

function canSync(text: string): boolean {
  const [, major = 0, minor = 0] = (/v(\d+)\.(\d+)/.exec(text) ?? []).map(Number);
  return major > SYNCS_FROM.major || (major === SYNCS_FROM.major && minor >= SYNCS_FROM.minor);
}

async function startServer(folder: string, sync: string): Promise<PeerServer> {
  const port = await freePort();
  const configuration = join(folder, 'nats.conf');
  writeFileSync(
    configuration,
    `host: 127.0.0.1\nport: ${port}\njetstream { store_dir: ${JSON.stringify(folder)}${sync} }\n`,
  );
  const server = new ServerProgram('nats', program() ?? '', ['-c', configuration], { folder });
  await server.until(() => listens(port));
  return { programs: { nats: server }, port };
}

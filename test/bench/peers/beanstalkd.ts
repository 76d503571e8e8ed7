/** beanstalkd, whose log is synced at every write. It keeps no results: the front does, in memory, so that this peer
 *  promises less than the others. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort, installed, listens, ServerProgram } from '../subjects/server-program.js';
import { type PeerServer, peerSubject } from './peer.js';

export const beanstalkd = peerSubject({
  name: 'beanstalkd',
  peer: 'beanstalkd',
  variant: 'synced',
  missing: () => (program() ? undefined : 'beanstalkd is not installed (apt-get install beanstalkd)'),
  startServer,
});

function program(): string | undefined {
  return installed('beanstalkd');
}

async function startServer(folder: string): Promise<PeerServer> {
  const port = await freePort();
  const log = join(folder, 'log');
  mkdirSync(log);
  const args = ['-l', '127.0.0.1', '-p', `${port}`, '-b', log, '-f', '0'];
  const server = new ServerProgram('beanstalkd', program() ?? '', args, { folder });
  await server.until(() => listens(port));
  return { programs: { beanstalkd: server }, port };
}

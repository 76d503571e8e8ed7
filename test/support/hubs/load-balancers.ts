/** The load balancers of `deploy/load-balancer`, with the configuration that is there, before hubs of a test. */
import { spawn, spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { eventually } from '../eventually.js';

export const LOAD_BALANCERS = ['haproxy', 'nginx'] as const;
export type LoadBalancerKind = (typeof LOAD_BALANCERS)[number];

export interface LoadBalancer {
  readonly kind: LoadBalancerKind;
  /** `http://127.0.0.1:49152` */
  readonly address: string;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 20_000;

const FOLDER = new URL('../../../deploy/load-balancer/', import.meta.url);

/** Debian has both where users other than root do not look. */
const ENVIRONMENT = { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin` };

/** Under CI, which installs it, a missing program fails. */
export function isMissing(kind: LoadBalancerKind): boolean {
  return spawnSync(kind, ['-v'], { env: ENVIRONMENT }).error !== undefined && process.env['CI'] === undefined;
}

/** Starts a load balancer before the hubs at these addresses; its files are in `folder`. */
export async function startLoadBalancer(
  kind: LoadBalancerKind,
  hubs: readonly { readonly address: string }[],
  folder: string,
): Promise<LoadBalancer> {
  const port = await freePort();
  const servers = hubs.map(({ address }) => new URL(address).host);
  const file = join(folder, kind);
  await writeFile(
    file,
    kind === 'haproxy' ? await haproxyConfig(port, servers) : await nginxConfig(port, servers, folder),
  );
  const [check, run] =
    kind === 'haproxy'
      ? [
          ['-c', '-f', file],
          ['-db', '-f', file],
        ]
      : [
          ['-t', '-c', file],
          ['-c', file],
        ];
  const checked = spawnSync(kind, check, { env: ENVIRONMENT, encoding: 'utf8' });
  if (checked.status !== 0) throw new Error(`${kind}: ${checked.stdout}${checked.stderr}`);
  const child = spawn(kind, run, { env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let said = '';
  child.stderr.on('data', (piece: Buffer) => {
    said += piece.toString();
  });
  const stop = async () => {
    child.kill();
    await ended;
  };
  const address = `http://127.0.0.1:${port}`;
  try {
    await eventually(async () => (await fetch(`${address}/readyz`)).status === 200, START_LIMIT_MS);
  } catch (error) {
    await stop();
    throw new Error(`${kind} does not reach the hubs: ${said}`, { cause: error });
  }
  return { kind, address, stop };
}

async function haproxyConfig(port: number, servers: readonly string[]): Promise<string> {
  const text = await readFile(new URL('haproxy.cfg', FOLDER), 'utf8');
  return withServers(text, servers)
    .replace(must(text, '  bind :8080\n'), `  bind 127.0.0.1:${port}\n`)
    .replace(must(text, /\n {2}log \/dev\/log local0\n {2}user haproxy\n {2}group haproxy\n/), '\n');
}

/** The file is included by that of Debian; this stands in for it. */
async function nginxConfig(port: number, servers: readonly string[], folder: string): Promise<string> {
  const text = await readFile(new URL('nginx.conf', FOLDER), 'utf8');
  const included = withServers(text, servers).replace(
    must(text, 'listen 8080;'),
    `listen 127.0.0.1:${port};`,
  );
  const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${join(folder, name)};`,
  );
  return [
    'daemon off;',
    `pid ${join(folder, 'nginx.pid')};`,
    'error_log stderr warn;',
    'events {}',
    `http { access_log off; ${places.join(' ')}`,
    included,
    '}',
  ].join('\n');
}

/** The file with these hubs in place of the three that it names. */
function withServers(text: string, servers: readonly string[]): string {
  return ['10.0.0.11:8080', '10.0.0.12:8080', '10.0.0.13:8080'].reduce((all, named, index) => {
    must(all, named);
    const server = servers[index];
    const lines = all.split('\n');
    return server === undefined
      ? lines.filter((line) => !line.includes(named)).join('\n')
      : all.replaceAll(named, server);
  }, text);
}

/** `wanted`, which the text must contain. */
function must<Wanted extends string | RegExp>(text: string, wanted: Wanted): Wanted {
  if (text.search(wanted instanceof RegExp ? wanted : wanted.replaceAll('.', String.raw`\.`)) < 0)
    throw new Error(`the configuration has no ${wanted}`);
  return wanted;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

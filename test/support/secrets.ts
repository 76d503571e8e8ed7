/** The secrets that tests use or receive; none of them may appear in a log. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Shorter texts may appear in logs by coincidence. */
const MIN_LENGTH = 12;

const secrets = new Set<string>();

/** Forbids this text in all logs from now on. */
export function keepSecret(text: string): void {
  if (text.length >= MIN_LENGTH) secrets.add(text);
}

/** Names of fields whose value is a secret, in requests and responses of the REST interface and of enrollment. */
const SECRET_FIELDS = new Set(['password', 'accessToken', 'token', 'code', 'credential', 'passwordHash']);

/** Keeps the secrets of a JSON value; ignores all else. */
export function keepSecretsOf(json: unknown): void {
  if (typeof json !== 'object' || json === null) return;
  for (const [name, value] of Object.entries(json)) {
    if (SECRET_FIELDS.has(name) && typeof value === 'string') keepSecret(value);
  }
}

/** Keeps the secrets in the headers of a request or response. */
export function keepSecretsOfHeaders(headers: Headers): void {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (bearer !== undefined) keepSecret(bearer);
  const cookies = [headers.get('cookie') ?? '', ...headers.getSetCookie()];
  for (const [, value] of cookies.join(';').matchAll(/refreshToken=([^;\s]+)/g)) keepSecret(value ?? '');
}

/** Keeps the secrets in the data folder of a hub or agent. */
export function keepSecretsOfDataDir(dataDir: string): void {
  const read = (name: string) => {
    const path = join(dataDir, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  for (const name of ['agent-token', 'storage-key', 'credential']) keepSecret(read(name).trim());
  for (const name of ['webhook-keys', 'manifest-keys', 'update-keys'])
    for (const key of read(name).trim().split('\n')) keepSecret(key);
  for (const [, key] of read('token-keys.json').matchAll(/"secret": *"([^"]+)"/g)) keepSecret(key ?? '');
}

/** Fails when a log in the data folder of a hub or agent has a secret. */
export function expectNoSecretInLogsOf(dataDir: string): void {
  keepSecretsOfDataDir(dataDir);
  for (const folder of ['logs', 'audit']) expectNoSecretIn(join(dataDir, folder));
}

/** Fails when this text has a secret; the message shows only its first letters. */
export function expectNoSecret(text: string, where: string): void {
  for (const secret of secrets) {
    // Logs escape texts as JSON does.
    const at = Math.max(text.indexOf(secret), text.indexOf(JSON.stringify(secret).slice(1, -1)));
    if (at < 0) continue;
    const line = text.slice(text.lastIndexOf('\n', at) + 1).split('\n')[0];
    throw new Error(`${where} holds the secret ${secret.slice(0, 4)}…: ${line?.replaceAll(secret, '…')}`);
  }
}

/** Fails when a file beneath this folder, if it exists, has a secret. */
function expectNoSecretIn(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) expectNoSecretIn(path);
    else expectNoSecret(readFileSync(path, 'utf8'), path);
  }
}

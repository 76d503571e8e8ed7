/** Every secret that the tests of a file use or get, none of which may ever stand in a log. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Shorter texts stand in logs by chance. */
const MIN_LENGTH = 12;

const secrets = new Set<string>();

/** From here on no log may hold this text. */
export function keepSecret(text: string): void {
  if (text.length >= MIN_LENGTH) secrets.add(text);
}

/** Names of fields whose value is a secret, in requests and answers of the REST interface and of enrolment. */
const SECRET_FIELDS = new Set(['password', 'accessToken', 'token', 'code', 'credential', 'passwordHash']);

/** Keeps the secrets of a JSON text; passes over what is none. */
export function keepSecretsOf(json: unknown): void {
  if (typeof json !== 'object' || json === null) return;
  for (const [name, value] of Object.entries(json)) {
    if (SECRET_FIELDS.has(name) && typeof value === 'string') keepSecret(value);
  }
}

/** Keeps what a request or an answer carries in its headers. */
export function keepSecretsOfHeaders(headers: Headers): void {
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get('authorization') ?? '')?.[1];
  if (bearer !== undefined) keepSecret(bearer);
  const cookies = [headers.get('cookie') ?? '', ...headers.getSetCookie()];
  for (const [, value] of cookies.join(';').matchAll(/refreshToken=([^;\s]+)/g)) keepSecret(value ?? '');
}

/** Keeps what a hub or an agent has made or fetched for itself, in its data folder. */
export function keepSecretsOfDataDir(dataDir: string): void {
  const read = (name: string) => {
    const path = join(dataDir, name);
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  };
  for (const name of ['agent-token', 'storage-key', 'credential']) keepSecret(read(name).trim());
  for (const [, key] of read('token-keys.json').matchAll(/"secret": *"([^"]+)"/g)) keepSecret(key ?? '');
}

/** Fails when a secret stands in one of the logs that a hub or an agent has written in its data folder. */
export function expectNoSecretInLogsOf(dataDir: string): void {
  keepSecretsOfDataDir(dataDir);
  for (const folder of ['logs', 'audit']) expectNoSecretIn(join(dataDir, folder));
}

/** Fails when a secret stands in this text. Says which by its first letters only. */
export function expectNoSecret(text: string, where: string): void {
  for (const secret of secrets) {
    // In a log a text stands as JSON has it.
    const at = Math.max(text.indexOf(secret), text.indexOf(JSON.stringify(secret).slice(1, -1)));
    if (at < 0) continue;
    const line = text.slice(text.lastIndexOf('\n', at) + 1).split('\n')[0];
    throw new Error(`${where} holds the secret ${secret.slice(0, 4)}…: ${line?.replaceAll(secret, '…')}`);
  }
}

/** The same for every file beneath a folder of logs or of the audit, if it is there. */
function expectNoSecretIn(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) expectNoSecretIn(path);
    else expectNoSecret(readFileSync(path, 'utf8'), path);
  }
}

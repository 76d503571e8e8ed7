/** `wb login`, `wb logout`, `wb profiles`. */
import { hostname } from 'node:os';
import { AuthenticationError, api, Hub, PasswordSession } from '@workbench-hub/client';
import type { Command } from 'commander';
import { ask, readStdin } from '../ask.js';
import { fetchOf } from '../connect.js';
import { print, table, tell } from '../console.js';
import { UsageError } from '../exit-codes.js';
import { changeProfiles, type Profile, readProfiles } from '../profiles.js';

interface LoginOptions {
  readonly username?: string;
  readonly token?: boolean;
  readonly passwordStdin?: boolean;
  readonly profile?: string;
  readonly caFile?: string;
  readonly days: string;
  readonly json?: boolean;
}

const NO_TERMINAL = 'give --username and --password-stdin, or --token';

/** Length of the random suffix that distinguishes the tokens of one machine. */
const SUFFIX_LENGTH = 6;

export function addLoginCommands(program: Command): void {
  program
    .command('login')
    .argument('<url>', 'address of the hub, such as https://hub.example')
    .description('log in to a hub, and keep a personal access token for it in a profile')
    .option('-u, --username <name>', 'user; asked for by default')
    .option('--password-stdin', 'read the password from standard input')
    .option('--token', 'read a personal access token from standard input instead of a password')
    .option('--days <count>', 'days after which the token expires', '90')
    .action(async (url: string, options: LoginOptions) => {
      const profile = await logIn(url, options);
      const name = options.profile ?? new URL(url).host;
      await changeProfiles(({ profiles }) => ({
        default: name,
        profiles: { ...profiles, [name]: profile },
      }));
      print(
        { profile: name, url },
        { isJson: options.json === true },
        () => `Logged in to ${url}, profile ${name}.`,
      );
    });

  program
    .command('logout')
    .description('revoke the token of a profile, and remove the profile')
    .action(async ({ profile: given, json = false }: { profile?: string; json?: boolean }) => {
      const { default: current, profiles } = await readProfiles();
      const name = given ?? current;
      const profile = name === undefined ? undefined : profiles[name];
      if (name === undefined || !profile)
        throw new UsageError('there is no such profile: wb profiles lists them');
      await revoke(profile);
      await changeProfiles((before) => {
        const { [name]: _, ...others } = before.profiles;
        const next = before.default === name ? Object.keys(others)[0] : before.default;
        return { ...(next === undefined ? {} : { default: next }), profiles: others };
      });
      print({ profile: name }, { isJson: json }, () => `Logged out of ${profile.url}.`);
    });

  program
    .command('profiles')
    .description('list the hubs that you have logged in to')
    .action(async ({ json = false }: { json?: boolean }) => {
      const { default: current, profiles } = await readProfiles();
      const rows = Object.entries(profiles).map(([name, { url }]) => ({
        name,
        url,
        isCurrent: name === current,
      }));
      print(rows, { isJson: json }, () =>
        table(rows, [
          { title: '', of: ({ isCurrent }) => (isCurrent ? '*' : '') },
          { title: 'PROFILE', of: ({ name }) => name },
          { title: 'HUB', of: ({ url }) => url },
        ]),
      );
    });
}

async function logIn(url: string, options: LoginOptions): Promise<Profile> {
  const { caFile } = options;
  const base = { url: url.replace(/\/+$/, ''), ...(caFile === undefined ? {} : { caFile }) };
  const connect = { url: base.url, fetch: fetchOf(caFile) };
  if (options.token) {
    const token = (await readStdin()).trim();
    await new Hub({ ...connect, token }).user();
    return { ...base, token };
  }
  if (!(await needsToken(new Hub(connect)))) return base;
  const username = options.username ?? (await ask('User: ', NO_TERMINAL));
  const password = options.passwordStdin
    ? (await readStdin()).replace(/\r?\n$/, '')
    : await ask('Password: ', NO_TERMINAL, true);
  const session = new PasswordSession(username, password);
  const hub = new Hub({ ...connect, credentials: session });
  const name = `wb on ${hostname()} ${Math.random()
    .toString(36)
    .slice(2, 2 + SUFFIX_LENGTH)}`;
  const { data } = await api.createPersonalToken({
    client: hub.client,
    body: { name, expiresInDays: Number(options.days) },
    throwOnError: true,
  });
  return { ...base, token: data.token, tokenId: data.id };
}

/** Whether the hub requires authentication. */
async function needsToken(hub: Hub): Promise<boolean> {
  try {
    await hub.user();
    return false;
  } catch (error) {
    if (error instanceof AuthenticationError) return true;
    throw error;
  }
}

async function revoke({ url, token, tokenId, caFile }: Profile): Promise<void> {
  if (token === undefined || tokenId === undefined) return;
  const hub = new Hub({ url, token, fetch: fetchOf(caFile) });
  try {
    await api.revokePersonalToken({ client: hub.client, path: { id: tokenId }, throwOnError: true });
  } catch (error) {
    tell(`wb: the token could not be revoked: ${(error as Error).message}`);
  }
}

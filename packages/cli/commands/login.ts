/** `wb login`, `wb logout`, `wb token`, `wb profiles`. */
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { AuthenticationError, api, Hub, NotFoundError, PasswordSession } from '@workbench-hub/client';
import { Argument, type Command } from 'commander';
import { ask, readStdin } from '../ask.js';
import { expectAddress, fetchOf, type HubOptions, targetOf } from '../connect.js';
import { print, printable, table, tell } from '../console.js';
import { UsageError } from '../exit-codes.js';
import { changeProfiles, type Profile, readProfiles, type SignOn } from '../profiles.js';
import { endSignOn, type SignedOn, signOnByDevice } from '../sign-on.js';
import { wholeNumber } from '../whole-number.js';

interface LoginOptions {
  readonly username?: string;
  readonly token?: boolean;
  readonly passwordStdin?: boolean;
  readonly signOn?: boolean;
  readonly profile?: string;
  readonly caFile?: string;
  readonly days: number;
  readonly json?: boolean;
}

const NO_TERMINAL = 'give --username and --password-stdin, or --token';

/** Length of the random suffix that distinguishes the tokens of one machine. */
const SUFFIX_LENGTH = 6;

export function addLoginCommands(program: Command): void {
  program
    .command('login')
    .argument('<url>', 'address of the hub, such as https://hub.example')
    .description('log in to a hub, and keep a token for it in a profile')
    .option('-u, --username <name>', 'user; asked for by default')
    .option('--password-stdin', 'read the password from standard input')
    .option('--token', 'read a personal access token from standard input instead of a password')
    .option('--sign-on', "log in by the company's sign-on, in a browser; the default where there is one")
    .option('--days <count>', 'days after which a personal access token expires', wholeNumber(1), 90)
    .action(keepLogin);

  program
    .command('logout')
    .description('revoke the token of a profile, and remove the profile')
    .action(async ({ profile: given, json = false }: { profile?: string; json?: boolean }) => {
      const { default: current, profiles } = await readProfiles();
      const name = given ?? current;
      const profile = name === undefined ? undefined : profiles[name];
      if (name === undefined || !profile)
        throw new UsageError('there is no such profile: wb profiles lists them');
      await revoke(await removeProfile(name, profile));
      print({ profile: name }, { isJson: json }, () => `Logged out of ${profile.url}.`);
    });

  program
    .command('token')
    .description('print a token that is valid now, for other programs')
    .action(async (options: HubOptions & { json?: boolean }) => {
      const { url, credentials } = await targetOf(options);
      const token = await credentials?.token(fetch);
      if (token === undefined) throw new UsageError(`there is no token for ${url}: log in with wb login`);
      print({ url, token }, { isJson: options.json === true }, () => token);
    });

  program
    .command('profiles')
    .addArgument(new Argument('[action]', 'use: make a profile the default').choices(['use']))
    .argument('[name]', 'profile to use')
    .description('list the hubs that you have logged in to, or choose the one to use')
    .action(
      async (action: string | undefined, name: string | undefined, { json = false }: { json?: boolean }) => {
        if (action !== undefined) await useProfile(name);
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
      },
    );
}

/** Removes a profile of these credentials, or of those that have renewed them meanwhile; resolves with what it had. */
async function removeProfile(name: string, profile: Profile): Promise<Profile> {
  let removed = profile;
  await changeProfiles((before) => {
    const { [name]: found = profile, ...others } = before.profiles;
    removed = found;
    const next = before.default === name ? Object.keys(others)[0] : before.default;
    return { ...(next === undefined ? {} : { default: next }), profiles: others };
  });
  return removed;
}

/** Logs in, and keeps the token in a profile. */
async function keepLogin(url: string, options: LoginOptions): Promise<void> {
  const profile = await logIn(url, options);
  const name = options.profile ?? new URL(url).host;
  let current = name;
  await changeProfiles(({ default: before, profiles }) => {
    // A named profile is one beside the others.
    if (options.profile !== undefined && before !== undefined && profiles[before]) current = before;
    return { default: current, profiles: { ...profiles, [name]: profile } };
  });
  print(
    { profile: name, url },
    { isJson: options.json === true },
    () => `Logged in to ${url}, profile ${name}.`,
  );
  if (current !== name)
    tell(
      `wb goes on to use the profile ${current}. For this one: --profile ${name}, or wb profiles use ${name}`,
    );
}

/** Makes a profile the default. */
async function useProfile(name: string | undefined): Promise<void> {
  const known = (profiles: object) => Object.keys(profiles).join(', ') || 'none';
  await changeProfiles((before) => {
    if (name === undefined || !before.profiles[name])
      throw new UsageError(`which profile? Known profiles: ${known(before.profiles)}`);
    return { ...before, default: name };
  });
}

async function logIn(url: string, options: LoginOptions): Promise<Profile> {
  const { caFile } = options;
  expectAddress(url);
  // The profile is used from other folders, too.
  const base = {
    url: url.replace(/\/+$/, ''),
    ...(caFile === undefined ? {} : { caFile: resolve(caFile) }),
  };
  // A wrong address is said at once.
  const connect = { url: base.url, fetch: fetchOf(caFile), retryDelaysMs: [] };
  if (options.token) {
    const token = (await readStdin()).trim();
    await new Hub({ ...connect, token }).user();
    return { ...base, token };
  }
  const stranger = new Hub(connect);
  if (!(await needsToken(stranger))) return base;
  const isByPassword = options.username !== undefined || options.passwordStdin === true;
  const deviceLogin = isByPassword ? undefined : await deviceLoginOf(stranger);
  if (deviceLogin !== undefined) return { ...base, ...(await byBrowser(deviceLogin, connect)) };
  if (options.signOn) throw new UsageError(`the hub at ${url} has no sign-on for wb: give --username`);
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
    body: { name, expiresInDays: options.days },
    throwOnError: true,
  });
  return { ...base, token: data.token, tokenId: data.id };
}

/** The sign-on of the hub; undefined where there is none, as on an older hub. */
async function deviceLoginOf(hub: Hub): Promise<SignOn | undefined> {
  try {
    const { data } = await api.getSignOn({ client: hub.client, throwOnError: true });
    return data.deviceLogin;
  } catch (error) {
    if (error instanceof NotFoundError) return undefined;
    throw error;
  }
}

async function byBrowser(
  login: SignOn,
  connect: { readonly url: string; readonly fetch: typeof fetch },
): Promise<SignedOn> {
  const signedOn = await signOnByDevice(login, connect.fetch, ({ code, url, completeUrl }) => {
    tell(
      `To log in by ${login.issuer}, open in any browser:\n\n  ${printable(url)}\n\nand enter the code ${printable(code)}`,
    );
    if (completeUrl !== undefined) tell(`or open:\n\n  ${printable(completeUrl)}\n`);
  });
  // A token that this hub does not accept is not kept.
  await new Hub({ ...connect, token: signedOn.token }).user();
  return signedOn;
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

async function revoke({ url, token, tokenId, caFile, signOn }: Profile): Promise<void> {
  if (signOn !== undefined) {
    await endSignOn(signOn, fetchOf(caFile)).catch((error: Error) =>
      tell(`wb: the sign-on could not be ended: ${error.message}`),
    );
    return;
  }
  if (token === undefined || tokenId === undefined) return;
  const hub = new Hub({ url, token, fetch: fetchOf(caFile) });
  try {
    await api.revokePersonalToken({ client: hub.client, path: { id: tokenId }, throwOnError: true });
  } catch (error) {
    tell(`wb: the token could not be revoked: ${(error as Error).message}`);
  }
}

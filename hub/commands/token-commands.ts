/** `workbench-hub token …`: personal tokens of users. A running hub sees changes without a restart. */
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { type Command, Option } from 'commander';
import type { HubConfig } from '../config.js';
import { holdsRole, TOKEN_ROLES, type TokenRole } from '../core/access.js';
import { isUsername } from '../core/accounts.js';
import { escapedName } from '../core/names.js';
import type { UserRecord } from '../core/ports/accounts.js';
import type { AccountStore } from '../core/ports/store.js';
import { DEFAULT_TOKEN_DAYS, isTokenName, MAX_TOKEN_DAYS, TOKEN_NAME_ALLOWED } from '../core/token-names.js';
import { PersonalTokens } from '../engine/accounts/personal-tokens.js';
import { secrets } from '../security/secrets.js';
import { openAccountStore } from '../store/open-store.js';
import { audited } from './audited.js';
import { printTable, refuseUnknownCommands, withConfig } from './command.js';

interface AddOptions {
  readonly name: string;
  readonly role: TokenRole;
  readonly days: string;
}

/** Adds `token add|list|revoke` to the program. */
export function tokenCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program
    .command('token')
    .description('Personal access tokens of users, for scripts and monitoring.');
  const change = (command: string, action: (store: AccountStore) => Promise<void>) =>
    withConfig(program, environment, (config) => audited(config, command, () => onAccounts(config, action)));

  group
    .command('add <user>')
    .description(
      'Prints a new token, which is shown only once. METRICS: it reads the metrics and nothing else.',
    )
    .requiredOption('--name <name>', 'purpose of the token')
    .addOption(
      new Option('--role <role>', 'highest role of the token').choices(TOKEN_ROLES).makeOptionMandatory(),
    )
    .option('--days <count>', `days after which it expires, 1 to ${MAX_TOKEN_DAYS}`, `${DEFAULT_TOKEN_DAYS}`)
    .action((user: string, options: AddOptions) =>
      change(`token add ${typed(user)} --role ${options.role}`, (store) => addToken(store, user, options)),
    );

  group
    .command('list <user>')
    .description('Lists the tokens of a user that have not expired, latest first.')
    .action((user: string) =>
      withConfig(program, environment, (config) =>
        onAccounts(config, async (store) => {
          await userOf(store, user);
          const tokens = await store.personalTokens.ofUser(user, systemRuntime.clock.nowMs());
          const rows = tokens.map(({ id, name, role, expiresAtMs, lastUsedAtMs }) => [
            id,
            role,
            dayOf(expiresAtMs),
            lastUsedAtMs === null ? '-' : dayOf(lastUsedAtMs),
            name,
          ]);
          printTable([['ID', 'ROLE', 'EXPIRES', 'LAST USED', 'NAME'], ...rows]);
        }),
      ),
    );

  group
    .command('revoke <id>')
    .description('Revokes a token at once.')
    .action((id: string) =>
      change(`token revoke ${JSON.stringify(id)}`, async ({ personalTokens }) => {
        const token = await personalTokens.find(id, systemRuntime.clock.nowMs());
        if (!token) {
          throw new StartRefused(
            `there is no token with the id ${JSON.stringify(id)}: "workbench-hub token list USER" lists those of a user`,
          );
        }
        await personalTokens.remove(id);
        console.log(`The token ${JSON.stringify(token.name)} of ${token.username} is revoked.`);
      }),
    );
  refuseUnknownCommands(group);
}

async function addToken(
  store: AccountStore,
  username: string,
  { name, role, days }: AddOptions,
): Promise<void> {
  if (!isTokenName(name)) {
    throw new StartRefused(`--name: found ${JSON.stringify(name)}, allowed: ${TOKEN_NAME_ALLOWED}`);
  }
  const expiresInDays = Number(days);
  if (!/^\d{1,3}$/.test(days) || expiresInDays < 1 || expiresInDays > MAX_TOKEN_DAYS) {
    throw new StartRefused(`--days: found ${JSON.stringify(days)}, allowed: 1 to ${MAX_TOKEN_DAYS}`);
  }
  const user = await userOf(store, username);
  const needed = role === 'METRICS' ? 'ADMIN' : role;
  if (!holdsRole(user, needed)) {
    throw new StartRefused(
      `--role: a token of ${role} takes a user with the role ${needed}; ${username} has ${user.roles.join(', ')}`,
    );
  }
  const tokens = new PersonalTokens({ store: store.personalTokens, secrets, runtime: systemRuntime });
  const owner = { username, roles: user.roles, by: 'SESSION' } as const;
  const { record, token } = await tokens.create(owner, { name, expiresInDays, role });
  console.log(token);
  console.error(
    `Valid as ${username} with the role ${role} until ${dayOf(record.expiresAtMs)}, and shown only now. To end it:\n` +
      `  workbench-hub token revoke ${record.id}`,
  );
  if (user.disabled)
    console.error(`${username} is disabled: the token is refused until the user is enabled.`);
}

async function userOf({ users }: AccountStore, username: string): Promise<UserRecord> {
  const user = await users.find(username);
  if (user) return user;
  throw new StartRefused(`there is no user ${escapedName(username)}: "workbench-hub user list" names all`);
}

async function onAccounts(config: HubConfig, action: (store: AccountStore) => Promise<void>): Promise<void> {
  const { close, ...store } = await openAccountStore(config, systemRuntime);
  try {
    await action(store);
  } finally {
    await close();
  }
}

/** Name for the audit log; an invalid one is escaped. */
function typed(name: string): string {
  return isUsername(name) ? name : escapedName(name);
}

function dayOf(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10);
}

/** `workbench-hub user …` and `hash-password`. A running hub sees changes without a restart. */
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import { Argument, type Command, Option } from 'commander';
import type { HubConfig } from '../config.js';
import { ROLES, type Role } from '../core/access.js';
import { isUsername, passwordError } from '../core/accounts.js';
import { escapedName } from '../core/names.js';
import { fromConfiguration, Users } from '../engine/accounts/users.js';
import { scryptPasswords } from '../security/passwords.js';
import { openAccountStore } from '../store/open-store.js';
import { audited } from './audited.js';
import { printTable, refuseUnknownCommands, refusing, withConfig } from './command.js';
import { newPassword } from './password-input.js';

const { clock } = systemRuntime;
const passwords = scryptPasswords();

const askPassword = () => newPassword(process.stdin, (text) => process.stderr.write(text));

/** Adds `hash-password` to the program. */
export function hashPasswordCommand(program: Command): void {
  program
    .command('hash-password')
    .description(
      'Prints the hash of a password, for passwordHash of a user in the configuration. Reads the password from ' +
        'standard input, or asks for it.',
    )
    .action(() =>
      refusing(async () => {
        const password = await askPassword();
        const fault = passwordError(password);
        if (fault !== undefined) throw new StartRefused(fault);
        console.log(await passwords.hash(password));
      }),
    );
}

type UserAction = (users: Users, config: HubConfig) => Promise<void>;

/** Runs an action that makes a change, which `command` names in the audit log. */
type ChangeUsers = (command: string, action: UserAction) => Promise<void>;

/** Adds `user add|passwd|roles|disable|enable|remove|list` to the program. */
export function userCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program.command('user').description('Users and their roles.');
  const changeUsers: ChangeUsers = (command, action) =>
    withConfig(program, environment, (config) => audited(config, command, () => onUsers(config, action)));
  addCommand(group, changeUsers);
  propertyCommands(group, changeUsers);
  presenceCommands(group, changeUsers);
  listCommand(group, (action) => withConfig(program, environment, (config) => onUsers(config, action)));
  refuseUnknownCommands(group);
}

function addCommand(group: Command, changeUsers: ChangeUsers): void {
  group
    .command('add <name>')
    .description('Adds a user. Reads the password from standard input, or asks for it.')
    .addOption(roleOption())
    .action((name: string, { role }: { role: Role[] }) =>
      changeUsers(`user add ${typed(name)} --role ${distinct(role).join(' ')}`, async (users, config) => {
        if (config.security.users.some(({ username }) => username === name)) throw fromConfiguration(name);
        await users.refuseNew(name);
        await users.add(name, await askPassword(), distinct(role));
        console.log(`${name} can log in, as ${distinct(role).join(', ')}.`);
        if (!config.security.enabled) {
          console.error('Security is off, so no login is needed; security.enabled: true changes that.');
        }
      }),
    );
}

function propertyCommands(group: Command, changeUsers: ChangeUsers): void {
  group
    .command('passwd <name>')
    .description('Sets the password of a user, which ends the sessions of this user.')
    .action((name: string) =>
      changeUsers(`user passwd ${typed(name)}`, async (users) => {
        await users.changeable(name);
        await users.setPassword(name, await askPassword());
        console.log(`${name} has a new password, and must log in with it.`);
      }),
    );

  group
    .command('roles <name>')
    .description('Sets the roles of a user, from the next request on.')
    .addArgument(roleArgument())
    .action((name: string, roles: Role[]) =>
      changeUsers(`user roles ${typed(name)} ${distinct(roles).join(' ')}`, async (users) => {
        await users.setRoles(name, distinct(roles));
        console.log(`${name} is ${distinct(roles).join(', ')} from now on.`);
      }),
    );
}

function presenceCommands(group: Command, changeUsers: ChangeUsers): void {
  group
    .command('disable <name>')
    .description('Disables a user, and ends the sessions of this user at once.')
    .action((name: string) =>
      changeUsers(`user disable ${typed(name)}`, async (users) => {
        await users.setDisabled(name, true);
        console.log(`${name} is disabled: the sessions have ended, and nobody can log in by this name.`);
      }),
    );

  group
    .command('enable <name>')
    .description('Enables a disabled user.')
    .action((name: string) =>
      changeUsers(`user enable ${typed(name)}`, async (users) => {
        await users.setDisabled(name, false);
        console.log(`${name} can log in.`);
      }),
    );

  group
    .command('remove <name>')
    .description('Removes a user, and ends the sessions of this user. The tasks remain.')
    .action((name: string) =>
      changeUsers(`user remove ${typed(name)}`, async (users) => {
        await users.remove(name);
        console.log(`${name} is removed.`);
      }),
    );
}

function listCommand(group: Command, withUsers: (action: UserAction) => Promise<void>): void {
  group
    .command('list')
    .description('Lists the users; those of the configuration as of the latest start of the hub.')
    .action(() =>
      withUsers(async (users) => {
        const rows = (await users.list()).map(({ username, roles, disabled, source }) => [
          username,
          roles.join(','),
          disabled ? 'disabled' : 'enabled',
          source === 'CONFIGURATION' ? 'configuration' : 'command',
        ]);
        printTable([['USER', 'ROLES', 'STATE', 'FROM'], ...rows]);
      }),
    );
}

async function onUsers(config: HubConfig, action: UserAction): Promise<void> {
  const { users: store, close } = await openAccountStore(config, systemRuntime);
  try {
    await action(new Users({ store, passwords, clock }), config);
  } finally {
    await close();
  }
}

/** Name for the audit log; an invalid one is escaped. */
function typed(name: string): string {
  return isUsername(name) ? name : escapedName(name);
}

function roleOption(): Option {
  return new Option('--role <role...>', 'what the user may do, one or more')
    .choices(ROLES)
    .makeOptionMandatory();
}

function roleArgument(): Argument {
  return new Argument('<role...>', 'what the user may do').choices(ROLES);
}

function distinct(roles: readonly Role[]): Role[] {
  return [...new Set(roles)];
}

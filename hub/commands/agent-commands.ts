/** `workbench-hub agent …`: credentials and drains of agents. A running hub sees changes without a restart. */
import { agentIdSchema } from '@workbench-hub/shared/agent-protocol/messages';
import { duration } from '@workbench-hub/shared/config/values';
import { StartRefused } from '@workbench-hub/shared/runtime/run-program';
import { systemRuntime } from '@workbench-hub/shared/runtime/system-runtime';
import type { Command } from 'commander';
import type { HubConfig } from '../config.js';
import type { AgentCredentialRecord } from '../core/ports/agent-credentials.js';
import type { AccountStore } from '../core/ports/store.js';
import { AgentCredentials } from '../engine/accounts/agent-credentials.js';
import { agentSecrets } from '../security/agent-secrets.js';
import { openAccountStore } from '../store/open-store.js';
import { accountName } from '../system/account-name.js';
import { audited } from './audited.js';
import { printTable, refuseUnknownCommands, withConfig } from './command.js';

const { clock } = systemRuntime;

/** Maximum validity of a code, which is meant to be used at once. */
const MAX_VALID_MS = 7 * 86_400_000;

const validity = duration({ minMs: 1000 }).refine((validMs) => validMs <= MAX_VALID_MS);

/** Adds `agent enroll|list|revoke|drain|undrain` to the program. */
export function agentCommands(program: Command, environment: NodeJS.ProcessEnv): void {
  const group = program.command('agent').description('Credentials and drains of agents.');
  const changeCredentials = (
    command: string,
    action: (credentials: AgentCredentials, config: HubConfig) => Promise<void>,
  ) =>
    withConfig(program, environment, (config) =>
      audited(config, command, () => onCredentials(config, (credentials) => action(credentials, config))),
    );

  group
    .command('enroll <id>')
    .description('Prints a code with which this agent can fetch its own credential, once.')
    .option('--valid <duration>', 'validity of the code: 10m, 1h, 2d; at most 7d', '1h')
    .action((id: string, { valid }: { valid: string }) =>
      changeCredentials(`agent enroll ${id}`, async (credentials) => {
        const agentId = idOf(id);
        const validFor = validity.safeParse(valid);
        if (!validFor.success) {
          throw new StartRefused(
            `--valid: found ${JSON.stringify(valid)}, allowed: a duration from 1s to 7d`,
          );
        }
        const { code, expiresAtMs } = await credentials.offer(agentId, validFor.data);
        console.log(code);
        console.error(
          `Valid once, for agent ${agentId}, until ${timeOf(expiresAtMs)}. On its host:\n` +
            '  workbench-agent enroll --config agent.yaml\n' +
            'For a hub that joins this one, on its machine:\n' +
            '  workbench-hub upstream enroll NAME --config hub.yaml',
        );
      }),
    );

  group
    .command('list')
    .description('Lists all agents that were ever enrolled, and drained ones.')
    .action(() =>
      withConfig(program, environment, (config) =>
        onAccounts(config, async (store) =>
          printTable([['AGENT', 'STATE', 'ENROLLED', 'LAST JOINED'], ...(await rowsOf(store))]),
        ),
      ),
    );

  group
    .command('revoke <id>')
    .description('Ends the credential of an agent, and its connection within seconds.')
    .action((id: string) =>
      changeCredentials(`agent revoke ${id}`, async (credentials, { agents }) => {
        const agentId = idOf(id);
        if (!(await credentials.revoke(agentId))) {
          const otherwise = agents.enrolledOnly
            ? 'without one it cannot join'
            : 'to exclude an agent that joins by agents.token, change the token or set agents.enrolledOnly';
          throw new StartRefused(
            `agent ${agentId} has no credential to revoke (see "workbench-hub agent list"); ${otherwise}`,
          );
        }
        console.log(`The credential of agent ${agentId} is revoked.`);
      }),
    );

  drainCommands(group, (command, action) =>
    withConfig(program, environment, (config) => audited(config, command, () => onAccounts(config, action))),
  );
  refuseUnknownCommands(group);
}

type ChangeAccounts = (command: string, action: (store: AccountStore) => Promise<void>) => Promise<void>;

function drainCommands(group: Command, change: ChangeAccounts): void {
  group
    .command('drain <id>')
    .description('Lets an agent end its tasks and begin no new ones, within seconds, until it is undrained.')
    .action((id: string) =>
      change(`agent drain ${id}`, async ({ agentDrains, agentCredentials }) => {
        const agentId = idOf(id);
        const drained = await agentDrains.drain({ agentId, sinceMs: clock.nowMs(), by: accountName() });
        console.log(drained ? `Agent ${agentId} is drained.` : `Agent ${agentId} was drained already.`);
        if (await agentCredentials.find(agentId)) return;
        console.error(
          `No agent was enrolled with the id ${agentId}: the drain counts if one joins by agents.token. ` +
            `If the id is wrong: workbench-hub agent undrain ${agentId}`,
        );
      }),
    );

  group
    .command('undrain <id>')
    .description('Lets a drained agent begin tasks again, within seconds.')
    .action((id: string) =>
      change(`agent undrain ${id}`, async ({ agentDrains }) => {
        const agentId = idOf(id);
        if (await agentDrains.undrain(agentId)) return console.log(`Agent ${agentId} is no longer drained.`);
        const drained = (await agentDrains.all()).map((drain) => drain.agentId).join(', ');
        throw new StartRefused(
          `agent ${agentId} is not drained; drained ${drained === '' ? 'are none' : `are: ${drained}`}`,
        );
      }),
    );
}

async function onCredentials(
  config: HubConfig,
  action: (credentials: AgentCredentials) => Promise<void>,
): Promise<void> {
  await onAccounts(config, ({ agentCredentials: store }) =>
    action(new AgentCredentials({ store, secrets: agentSecrets, clock, joinToken: null })),
  );
}

async function onAccounts(config: HubConfig, action: (store: AccountStore) => Promise<void>): Promise<void> {
  const { close, ...store } = await openAccountStore(config, systemRuntime);
  try {
    await action(store);
  } finally {
    await close();
  }
}

function idOf(text: string): string {
  const parsed = agentIdSchema.safeParse(text);
  if (parsed.success) return parsed.data;
  throw new StartRefused(
    `agent id: found ${JSON.stringify(text)}, allowed: 1 to 200 letters, digits and . _ : @ -, as in "id" of the agent`,
  );
}

async function rowsOf({ agentCredentials, agentDrains }: AccountStore): Promise<string[][]> {
  const records = new Map((await agentCredentials.all()).map((record) => [record.agentId, record]));
  const drained = new Set((await agentDrains.all()).map(({ agentId }) => agentId));
  const ids = [...new Set([...records.keys(), ...drained])].sort();
  return ids.map((agentId) => {
    const record = records.get(agentId);
    const state = record ? stateOf(record) : 'not enrolled';
    return [
      agentId,
      drained.has(agentId) ? `${state}, drained` : state,
      timeOf(record?.enrolledAtMs ?? null),
      timeOf(record?.joinedAtMs ?? null),
    ];
  });
}

function stateOf(record: AgentCredentialRecord): string {
  const { codeHash, codeSpentAtMs, codeExpiresAtMs, credentialHash, revokedAtMs } = record;
  const state = revokedAtMs !== null ? 'revoked' : credentialHash !== null ? 'enrolled' : 'not enrolled';
  if (codeHash === null || codeSpentAtMs !== null || codeExpiresAtMs === null) return state;
  if (codeExpiresAtMs <= clock.nowMs()) return `${state}, code expired`;
  return `${state}, code open`;
}

function timeOf(timeMs: number | null): string {
  return timeMs === null ? '-' : new Date(timeMs).toISOString().replace(/\.\d+Z$/, 'Z');
}

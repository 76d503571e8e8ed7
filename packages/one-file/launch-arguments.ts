/** The little that a launcher reads of arguments and configuration: it is older than the agent, whose keys it does not know. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'yaml';

const DEFAULT_DATA_DIR = './workbench-agent-data';
const DATA_DIR_VARIABLE = 'WORKBENCH_AGENT_DATA_DIR';

export interface LaunchArguments {
  /** Path of the configuration file; null without one. */
  readonly config: string | null;
  /** Whether an agent is to be started: there is no command, and no other option. */
  readonly isStart: boolean;
  /** Whether the command is `service`, which is about the installed file itself. */
  readonly isServiceCommand: boolean;
  /** Name of the service of Windows as which the agent starts; null: as none. */
  readonly service: string | null;
  /** The arguments that are the agent's. */
  readonly ofAgent: readonly string[];
}

const SERVICE_OPTION = '--service';

export function readArguments(args: readonly string[]): LaunchArguments {
  const { service, ofAgent } = takeService(args);
  let config: string | null = null;
  const others: string[] = [];
  for (let at = 0; at < ofAgent.length; at++) {
    const argument = ofAgent[at] ?? '';
    const [, name, value] = /^(--config|-c)(?:=?(.*))$/s.exec(argument) ?? [];
    if (name === undefined) others.push(argument);
    else config = value === undefined || value === '' ? (ofAgent[++at] ?? '') : value;
  }
  return {
    config,
    isStart: others.length === 0,
    isServiceCommand: others[0] === 'service',
    service,
    ofAgent,
  };
}

function takeService(args: readonly string[]): Pick<LaunchArguments, 'service' | 'ofAgent'> {
  const at = args.indexOf(SERVICE_OPTION);
  if (at < 0) return { service: null, ofAgent: args };
  return { service: args[at + 1] ?? '', ofAgent: [...args.slice(0, at), ...args.slice(at + 2)] };
}

/** Absolute path of the data folder; null when the configuration cannot be read, of which the agent tells. */
export function dataDirOf(
  config: string | null,
  environment: Readonly<Record<string, string | undefined>>,
): string | null {
  const set = environment[DATA_DIR_VARIABLE];
  if (set !== undefined) return resolve(set);
  if (config === null) return resolve(DEFAULT_DATA_DIR);
  try {
    const { dataDir = DEFAULT_DATA_DIR } = (parse(readFileSync(config, 'utf8')) ?? {}) as {
      dataDir?: unknown;
    };
    return typeof dataDir === 'string' ? resolve(dataDir) : null;
  } catch {
    return null;
  }
}

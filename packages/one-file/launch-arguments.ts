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
}

export function readArguments(args: readonly string[]): LaunchArguments {
  let config: string | null = null;
  let isStart = true;
  for (let at = 0; at < args.length; at++) {
    const [, name, value] = /^(--config|-c)(?:=?(.*))$/s.exec(args[at] ?? '') ?? [];
    if (name === undefined) isStart = false;
    else config = value === undefined || value === '' ? (args[++at] ?? '') : value;
  }
  return { config, isStart };
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
